import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.*;
import org.apache.hadoop.hbase.client.*;
import org.apache.hadoop.hbase.filter.*;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * What HBase answers, by its own client: programs in the language of
 * ../case.h, a line of JSON each on the standard input, and a line of answers
 * for each on the standard output, in their order:
 *
 *   {"create": TABLE, "schema": {..}, "splits": [..]}   {}
 *   {"drop": TABLE}                                     {}
 *   {"table": TABLE, "region": PREFIX, "steps": [..]}
 *       {"t0": MS, "steps": [{"answer": ..} or {"error": KIND, "why": ..}, ..]}
 *
 * A program flushes and compacts the regions whose first rows begin with its
 * prefix. Those of one prefix run in their order, others beside each other;
 * tables are made and dropped when no program runs.
 *
 * A filter of a step is its "tree", if it has one: ["AND" or "OR", tree, ..],
 * ["SKIP" or "WHILE", tree], or the text of one filter. HBase's parser trips over
 * some texts, but takes each filter alone.
 */
public class Oracle {
    static final ObjectMapper JSON = new ObjectMapper();
    static final int CALLERS = 4;
    static Connection connection;

    static byte[] bytes(JsonNode v) {
        if (v == null || v.isNull())
            return new byte[0];
        String s = v.asText();
        if (s.startsWith("x:"))
            return Bytes.fromHex(s.substring(2));
        if (s.startsWith("i:"))
            return Bytes.toBytes(Long.parseLong(s.substring(2)));
        return s.getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] a, int at, int n) {
        StringBuilder s = new StringBuilder();
        for (int i = at; i < at + n; i++) {
            if (a[i] >= 32 && a[i] < 127 && a[i] != '%')
                s.append((char) a[i]);
            else
                s.append(String.format("%%%02x", a[i] & 255));
        }
        return s.toString();
    }

    static String column(Cell c) {
        return text(c.getFamilyArray(), c.getFamilyOffset(), c.getFamilyLength()) + ":"
            + text(c.getQualifierArray(), c.getQualifierOffset(), c.getQualifierLength());
    }

    static String value(Cell c) {
        return text(c.getValueArray(), c.getValueOffset(), c.getValueLength());
    }

    /** A column of the language: null as qualifier is the whole family. */
    static byte[][] split(JsonNode v) {
        String s = v.asText();
        int colon = s.indexOf(':');
        if (colon < 0)
            return new byte[][] {Bytes.toBytes(s), null};
        return new byte[][] {Bytes.toBytes(s.substring(0, colon)), Bytes.toBytes(s.substring(colon + 1))};
    }

    /** One program. */
    static class Program {
        final JsonNode program;
        final long t0 = System.currentTimeMillis();
        final Table table;

        Program(JsonNode program) throws IOException {
            this.program = program;
            table = connection.getTable(TableName.valueOf(program.get("table").asText()));
        }

        long ts(JsonNode v) {
            if (v == null || v.isNull())
                return HConstants.LATEST_TIMESTAMP;
            if (v.isTextual())
                return t0 + (v.asText().length() > 2 ? Long.parseLong(v.asText().substring(2)) : 0);
            return v.asLong();
        }

        Put put(byte[] row, JsonNode cells, JsonNode ttl) {
            Put p = new Put(row);
            for (JsonNode c : cells) {
                byte[][] name = split(c.get(0));
                if (c.get(1).isNull())
                    p.addColumn(name[0], name[1], bytes(c.get(2)));
                else
                    p.addColumn(name[0], name[1], ts(c.get(1)), bytes(c.get(2)));
            }
            if (ttl != null)
                p.setTTL(ttl.asLong());
            return p;
        }

        Delete delete(byte[] row, JsonNode items, JsonNode ts) {
            Delete d = new Delete(row, ts(ts));
            if (items == null)
                return d;
            for (JsonNode i : items) {
                byte[][] name = split(i.get(1));
                long t = ts(i.get(2));
                switch (i.get(0).asText()) {
                case "Delete":
                    d.addColumn(name[0], name[1], t);
                    break;
                case "DeleteColumn":
                    d.addColumns(name[0], name[1], t);
                    break;
                case "DeleteFamily":
                    d.addFamily(name[0], t);
                    break;
                default:
                    d.addFamilyVersion(name[0], t);
                }
            }
            return d;
        }

        RowMutations mutations(byte[] row, JsonNode list) throws IOException {
            RowMutations all = new RowMutations(row);
            for (JsonNode m : list) {
                if (m.has("put"))
                    all.add((Mutation) put(row, m.get("put"), m.get("ttl")));
                else
                    all.add((Mutation) delete(row, m.get("delete"), m.get("ts")));
            }
            return all;
        }

        Filter tree(JsonNode n) throws Exception {
            if (n.isTextual())
                return new ParseFilter().parseFilterString(n.asText());
            String word = n.get(0).asText();
            if (word.equals("SKIP"))
                return new SkipFilter(tree(n.get(1)));
            if (word.equals("WHILE"))
                return new WhileMatchFilter(tree(n.get(1)));
            FilterList list = new FilterList(word.equals("AND") ? FilterList.Operator.MUST_PASS_ALL
                                                                : FilterList.Operator.MUST_PASS_ONE);
            for (int i = 1; i < n.size(); i++)
                list.addFilter(tree(n.get(i)));
            return list;
        }

        /** Families are read for every row: the case differs-11 has the other way. */
        void query(Query q, JsonNode step) throws Exception {
            q.setLoadColumnFamiliesOnDemand(false);
            if (step.has("cf_tr"))
                for (Iterator<Map.Entry<String, JsonNode>> i = step.get("cf_tr").fields(); i.hasNext();) {
                    Map.Entry<String, JsonNode> e = i.next();
                    q.setColumnFamilyTimeRange(Bytes.toBytes(e.getKey()), ts(e.getValue().get(0)),
                                               ts(e.getValue().get(1)));
                }
            if (step.has("tree") || step.has("filter"))
                q.setFilter(tree(step.has("tree") ? step.get("tree") : step.get("filter")));
        }

        Get get(JsonNode step) throws Exception {
            Get g = new Get(bytes(step.get("row")));
            query(g, step);
            if (step.has("cols"))
                for (JsonNode c : step.get("cols")) {
                    byte[][] name = split(c);
                    if (name[1] == null)
                        g.addFamily(name[0]);
                    else
                        g.addColumn(name[0], name[1]);
                }
            if (step.has("versions"))
                g.readVersions(step.get("versions").isTextual() ? Integer.MAX_VALUE
                                                                : step.get("versions").asInt());
            if (step.has("tr"))
                g.setTimeRange(ts(step.get("tr").get(0)), ts(step.get("tr").get(1)));
            if (step.has("ts"))
                g.setTimestamp(ts(step.get("ts")));
            if (step.has("store_limit"))
                g.setMaxResultsPerColumnFamily(step.get("store_limit").asInt());
            if (step.has("store_offset"))
                g.setRowOffsetPerColumnFamily(step.get("store_offset").asInt());
            return g;
        }

        Scan scan(JsonNode step) throws Exception {
            Scan s = new Scan();
            query(s, step);
            s.withStartRow(bytes(step.get("start")));
            s.withStopRow(bytes(step.get("stop")), step.has("incl_stop"));
            if (step.has("cols"))
                for (JsonNode c : step.get("cols")) {
                    byte[][] name = split(c);
                    if (name[1] == null)
                        s.addFamily(name[0]);
                    else
                        s.addColumn(name[0], name[1]);
                }
            if (step.has("versions"))
                s.readVersions(step.get("versions").isTextual() ? Integer.MAX_VALUE
                                                                : step.get("versions").asInt());
            if (step.has("tr"))
                s.setTimeRange(ts(step.get("tr").get(0)), ts(step.get("tr").get(1)));
            if (step.has("ts"))
                s.setTimestamp(ts(step.get("ts")));
            s.setRaw(step.has("raw"));
            if (step.has("reversed"))
                s.setReversed(true);
            if (step.has("limit"))
                s.setLimit(step.get("limit").asInt());
            if (step.has("batch"))
                s.setBatch(step.get("batch").asInt());
            if (step.has("store_limit"))
                s.setMaxResultsPerColumnFamily(step.get("store_limit").asInt());
            if (step.has("store_offset"))
                s.setRowOffsetPerColumnFamily(step.get("store_offset").asInt());
            return s;
        }

        void add(ArrayNode out, Result r, boolean withRow, boolean withType) {
            for (Cell c : r.rawCells() == null ? new Cell[0] : r.rawCells()) {
                ArrayNode a = out.addArray();
                if (withRow)
                    a.add(text(c.getRowArray(), c.getRowOffset(), c.getRowLength()));
                a.add(column(c)).add(c.getTimestamp()).add(value(c));
                if (withType)
                    a.add(c.getType().toString());
            }
        }

        /** Each column with its sum, or what it is now. */
        void addSums(ArrayNode out, Result r, boolean numbers) {
            for (Cell c : r.rawCells()) {
                ArrayNode a = out.addArray().add(column(c));
                if (numbers)
                    a.add(Bytes.toLong(c.getValueArray(), c.getValueOffset()));
                else
                    a.add(value(c));
            }
        }

        boolean check(byte[] row, JsonNode step) throws Exception {
            byte[][] name = split(step.get("col"));
            CompareOperator op = CompareOperator.valueOf(step.get("cmp").asText());
            CheckAndMutate.Builder b = CheckAndMutate.newBuilder(row);
            if (step.get("value").isNull() && op == CompareOperator.EQUAL)
                b.ifNotExists(name[0], name[1]);
            else
                b.ifMatches(name[0], name[1], op, step.get("value").isNull() ? null : bytes(step.get("value")));
            return table.checkAndMutate(b.build(mutations(row, step.get("muts")))).isSuccess();
        }

        List<byte[]> regions() throws IOException {
            byte[] prefix = bytes(program.get("region"));
            List<byte[]> out = new ArrayList<>();
            for (HRegionLocation l : connection.getRegionLocator(table.getName()).getAllRegionLocations()) {
                if (Bytes.startsWith(l.getRegion().getStartKey(), prefix))
                    out.add(l.getRegion().getRegionName());
            }
            return out;
        }

        void settle(boolean compact) throws Exception {
            try (Admin admin = connection.getAdmin()) {
                for (byte[] region : regions()) {
                    if (!compact) {
                        admin.flushRegion(region);
                        continue;
                    }
                    admin.majorCompactRegion(region);
                    while (admin.getCompactionStateForRegion(region) != CompactionState.NONE)
                        Thread.sleep(1);
                }
            }
        }

        void answer(JsonNode step, ObjectNode out) throws Exception {
            byte[] row = step.has("row") ? bytes(step.get("row")) : null;
            switch (step.get("op").asText()) {
            case "put":
                table.put(put(row, step.get("cells"), step.get("ttl")));
                break;
            case "delete":
                table.delete(delete(row, step.get("items"), step.get("ts")));
                break;
            case "mutate_row":
                table.mutateRow(mutations(row, step.get("muts")));
                break;
            case "increment":
                Increment inc = new Increment(row);
                for (JsonNode c : step.get("cols"))
                    inc.addColumn(split(c.get(0))[0], split(c.get(0))[1], c.get(1).asLong());
                if (step.has("tr"))
                    inc.setTimeRange(ts(step.get("tr").get(0)), ts(step.get("tr").get(1)));
                addSums(out.putArray("answer"), table.increment(inc), true);
                break;
            case "append":
                Append app = new Append(row);
                for (JsonNode c : step.get("cols"))
                    app.addColumn(split(c.get(0))[0], split(c.get(0))[1], bytes(c.get(1)));
                if (step.has("tr"))
                    app.setTimeRange(ts(step.get("tr").get(0)), ts(step.get("tr").get(1)));
                addSums(out.putArray("answer"), table.append(app), false);
                break;
            case "check_and_mutate":
                out.put("answer", check(row, step));
                break;
            case "get":
                add(out.putArray("answer"), table.get(get(step)), false, false);
                break;
            case "exists":
                out.put("answer", table.exists(get(step)));
                break;
            case "scan":
                ArrayNode cells = out.putArray("answer"), chunks = out.putArray("chunks");
                try (ResultScanner s = table.getScanner(scan(step))) {
                    for (Result r : s) {
                        add(cells, r, true, step.has("raw"));
                        chunks.add(r.size());
                    }
                }
                break;
            case "flush":
                settle(false);
                break;
            case "major_compact":
                settle(true);
                break;
            default:
                throw new IllegalStateException("no operation " + step);
            }
        }

        String run() throws Exception {
            ObjectNode out = JSON.createObjectNode().put("t0", t0);
            ArrayNode answers = out.putArray("steps");
            for (JsonNode step : program.get("steps")) {
                ObjectNode a = JSON.createObjectNode();
                /* Calls that follow one another lie a millisecond apart. */
                for (long now = System.currentTimeMillis(); System.currentTimeMillis() == now;)
                    Thread.sleep(0, 200000);
                try {
                    answer(step, a);
                } catch (Exception e) {
                    a = JSON.createObjectNode().put("error", kind(e)).put("why", words(e));
                }
                answers.add(a);
            }
            table.close();
            return JSON.writeValueAsString(out);
        }
    }

    /** All causes; those of a server tell where. */
    static String words(Throwable e) {
        StringBuilder s = new StringBuilder();
        for (; e != null && s.length() < 4000; e = e.getCause())
            s.append(e).append('\n');
        return s.toString();
    }

    /** The kinds of errors that ../case.h has. */
    static String kind(Throwable e) {
        if (e instanceof RetriesExhaustedWithDetailsException)
            e = ((RetriesExhaustedWithDetailsException) e).getCause(0);
        while (e instanceof RetriesExhaustedException && e.getCause() != null)
            e = e.getCause();
        if (e instanceof IllegalArgumentException)
            return "IllegalArgument";
        if (e.getClass().getSimpleName().equals("NoSuchColumnFamilyException"))
            return "NoSuchColumnFamily";
        return e instanceof DoNotRetryIOException ? "DoNotRetryIO" : "other";
    }

    static void create(JsonNode n) throws IOException {
        TableDescriptorBuilder b = TableDescriptorBuilder.newBuilder(TableName.valueOf(n.get("create").asText()));
        for (Iterator<Map.Entry<String, JsonNode>> i = n.get("schema").fields(); i.hasNext();) {
            Map.Entry<String, JsonNode> e = i.next();
            ColumnFamilyDescriptorBuilder f =
                ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes(e.getKey()));
            for (Iterator<Map.Entry<String, JsonNode>> k = e.getValue().fields(); k.hasNext();) {
                Map.Entry<String, JsonNode> attr = k.next();
                f.setValue(attr.getKey(), attr.getValue().asText());
            }
            b.setColumnFamily(f.build());
        }
        List<byte[]> splits = new ArrayList<>();
        for (JsonNode s : n.get("splits"))
            splits.add(bytes(s));
        try (Admin admin = connection.getAdmin()) {
            drop(admin, TableName.valueOf(n.get("create").asText()));
            admin.createTable(b.build(), splits.toArray(new byte[0][]));
        }
    }

    static void drop(Admin admin, TableName name) throws IOException {
        if (!admin.tableExists(name))
            return;
        if (admin.isTableEnabled(name))
            admin.disableTable(name);
        admin.deleteTable(name);
    }

    public static void main(String[] args) throws Exception {
        Configuration conf = HBaseConfiguration.create();
        /* What a server answers with an error, it does the second time, too. */
        conf.setInt("hbase.client.retries.number", 2);
        conf.setInt("hbase.rpc.timeout", 20000);
        conf.setInt("hbase.client.operation.timeout", 20000);
        conf.setInt("hbase.client.scanner.timeout.period", 20000);
        connection = ConnectionFactory.createConnection(conf);
        ExecutorService[] callers = new ExecutorService[CALLERS];
        for (int i = 0; i < CALLERS; i++)
            callers[i] = Executors.newSingleThreadExecutor();
        BlockingQueue<Future<String>> order = new LinkedBlockingQueue<>();
        Thread printer = new Thread(() -> {
            try {
                for (Future<String> f; !(f = order.take()).isCancelled();)
                    System.out.println(f.get());
            } catch (Exception e) {
                e.printStackTrace();
                System.exit(1);
            }
        });
        printer.start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null;) {
            JsonNode n = JSON.readTree(line);
            CompletableFuture<String> done = CompletableFuture.completedFuture("{}");
            if (n.has("create")) {
                create(n);
                order.add(done);
            } else if (n.has("drop")) {
                try (Admin admin = connection.getAdmin()) {
                    drop(admin, TableName.valueOf(n.get("drop").asText()));
                }
                order.add(done);
            } else {
                int caller = Math.floorMod(n.get("region").asText().hashCode(), CALLERS);
                order.add(callers[caller].submit(() -> new Program(n).run()));
            }
        }
        CompletableFuture<String> end = new CompletableFuture<>();
        end.cancel(false);
        order.add(end);
        printer.join();
        for (ExecutorService e : callers)
            e.shutdown();
        connection.close();
    }
}

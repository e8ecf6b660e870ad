import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import org.apache.hadoop.hbase.*;
import org.apache.hadoop.hbase.client.*;
import org.apache.hadoop.hbase.filter.*;
import org.apache.hadoop.hbase.util.Bytes;

/** What speed.c does, with HBase's own client. The same arguments and output. */
public class Speed {
    static final int BATCH = 1000, SCATTERED = 97;
    static final byte[] F = Bytes.toBytes("f"), C = Bytes.toBytes("c"), VALUE = new byte[100];
    static Connection connection;
    static TableName name;
    static long rows;

    interface Step {
        long run(Table t, Random random) throws Exception;
    }

    static byte[] row(long i) {
        return Bytes.toBytes(String.format("row%09d", i));
    }

    static byte[] anyRow(Random random) {
        return row(random.nextInt((int) rows));
    }

    static long tenth(Table t, Random random, boolean names) throws Exception {
        long first = (long) random.nextInt((int) rows) * 9 / 10, n = 0;
        Scan scan = new Scan().withStartRow(row(first)).withStopRow(row(first + rows / 10));
        if (names)
            scan.setFilter(new FilterList(new FirstKeyOnlyFilter(), new KeyOnlyFilter()));
        try (ResultScanner s = t.getScanner(scan)) {
            for (Result r : s)
                n += r.isEmpty() ? 0 : 1;
        }
        return n;
    }

    static long batch(Table t, Random random) throws Exception {
        List<Put> puts = new ArrayList<>(BATCH);
        long first = random.nextInt((int) rows);
        for (int i = 0; i < BATCH; i++)
            puts.add(new Put(row((first + i * SCATTERED) % rows)).addColumn(F, C, VALUE));
        t.put(puts);
        return BATCH;
    }

    static Step step(String what) {
        switch (what) {
        case "get":
            return (t, random) -> {
                if (t.get(new Get(anyRow(random)).addColumn(F, C)).isEmpty())
                    throw new Exception("no such row");
                return 1;
            };
        case "row":
            return (t, random) -> t.get(new Get(anyRow(random))).isEmpty() ? 0 : 1;
        case "put":
        case "auto":
            return (t, random) -> {
                t.put(new Put(anyRow(random)).addColumn(F, C, VALUE));
                return 1;
            };
        case "puts":
            return Speed::batch;
        case "scan":
            return (t, random) -> tenth(t, random, false);
        case "rows":
            return (t, random) -> tenth(t, random, true);
        default:
            throw new IllegalArgumentException(what);
        }
    }

    static long together(Step step, int callers, double seconds) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(callers);
        List<Future<Long>> all = new ArrayList<>();
        long until = System.nanoTime() + (long) (seconds * 1e9), done = 0;
        for (int i = 0; i < callers; i++) {
            Random random = new Random(i);
            all.add(pool.submit(() -> {
                long n = 0;
                try (Table t = connection.getTable(name)) {
                    do
                        n += step.run(t, random);
                    while (System.nanoTime() < until);
                }
                return n;
            }));
        }
        for (Future<Long> f : all)
            done += f.get();
        pool.shutdown();
        return done;
    }

    public static void main(String[] args) throws Exception {
        OperatingSystemMXBean os = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
        name = TableName.valueOf(args[0]);
        Step step = step(args[1]);
        int callers = Integer.parseInt(args[2]);
        double seconds = Double.parseDouble(args[3]);
        rows = Long.parseLong(args[4]);
        // The compiler of the virtual machine needs longer than a program of C to be warm.
        together(step, callers, Math.max(4, seconds));
        long began = System.nanoTime(), used = os.getProcessCpuTime();
        long done = together(step, callers, seconds);
        System.out.printf("%.0f %.2f%n", done / ((System.nanoTime() - began) / 1e9),
            (os.getProcessCpuTime() - used) / 1e3 / done);
        connection.close();
    }
}

import com.sun.tools.attach.VirtualMachine;
import java.util.*;
import javax.management.ObjectName;
import javax.management.remote.*;
import org.apache.hadoop.hbase.*;
import org.apache.hadoop.hbase.client.*;
import org.apache.hadoop.hbase.security.access.*;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * HBase's own client, to write and read beside cellfs: one command as arguments,
 * or a command a line of the standard input, and for each a line that begins with
 * "ok" or "failed".
 */
public class Client {
    static Connection connection;

    static RegionInfo region(String table, String row) throws Exception {
        return connection.getRegionLocator(TableName.valueOf(table))
            .getRegionLocation(Bytes.toBytes(row), true).getRegion();
    }

    static String run(String[] w) throws Exception {
        try (Admin admin = connection.getAdmin();
             Table table = connection.getTable(TableName.valueOf(w[1]))) {
            switch (w[0]) {
            case "put": // TABLE ROW FAMILY QUALIFIER VALUE [TS]
                Put put = new Put(Bytes.toBytes(w[2]));
                if (w.length > 6)
                    put.addColumn(Bytes.toBytes(w[3]), Bytes.toBytes(w[4]), Long.parseLong(w[6]), Bytes.toBytes(w[5]));
                else
                    put.addColumn(Bytes.toBytes(w[3]), Bytes.toBytes(w[4]), Bytes.toBytes(w[5]));
                table.put(put);
                return "";
            case "put-ttl": // TABLE ROW FAMILY QUALIFIER VALUE MILLISECONDS
                table.put(new Put(Bytes.toBytes(w[2])).setTTL(Long.parseLong(w[6]))
                    .addColumn(Bytes.toBytes(w[3]), Bytes.toBytes(w[4]), Bytes.toBytes(w[5])));
                return "";
            case "put-tag": // TABLE ROW FAMILY QUALIFIER VALUE: with a tag of users
                // A put that is alone goes without its tags.
                table.put(List.of(new Put(Bytes.toBytes(w[2])).add(new KeyValue(Bytes.toBytes(w[2]),
                    Bytes.toBytes(w[3]), Bytes.toBytes(w[4]), System.currentTimeMillis(), Bytes.toBytes(w[5]),
                    new Tag[] {new ArrayBackedTag((byte) 64, "label")}))));
                return "";
            case "get": // TABLE ROW FAMILY QUALIFIER
                byte[] value = table.get(new Get(Bytes.toBytes(w[2])))
                    .getValue(Bytes.toBytes(w[3]), Bytes.toBytes(w[4]));
                return value == null ? "absent" : Bytes.toString(value);
            case "delete": // TABLE ROW
                table.delete(new Delete(Bytes.toBytes(w[2])));
                return "";
            case "delete-version": // TABLE ROW FAMILY QUALIFIER TS
                table.delete(new Delete(Bytes.toBytes(w[2]))
                    .addColumn(Bytes.toBytes(w[3]), Bytes.toBytes(w[4]), Long.parseLong(w[5])));
                return "";
            case "append": // TABLE ROW FAMILY QUALIFIER VALUE
                table.append(new Append(Bytes.toBytes(w[2]))
                    .addColumn(Bytes.toBytes(w[3]), Bytes.toBytes(w[4]), Bytes.toBytes(w[5])));
                return "";
            case "incr": // TABLE ROW FAMILY QUALIFIER N
                return Long.toString(table.incrementColumnValue(Bytes.toBytes(w[2]),
                    Bytes.toBytes(w[3]), Bytes.toBytes(w[4]), Long.parseLong(w[5])));
            case "create": // TABLE FAMILY [ROW...], as HBase's shell would; regions begin at the rows
                byte[][] rows = new byte[w.length - 3][];
                for (int i = 3; i < w.length; i++)
                    rows[i - 3] = Bytes.toBytes(w[i]);
                admin.createTable(TableDescriptorBuilder.newBuilder(TableName.valueOf(w[1]))
                    .setColumnFamily(ColumnFamilyDescriptorBuilder.of(w[2])).build(), rows.length > 0 ? rows : null);
                return "";
            case "create-mob": // TABLE FAMILY: values from 100 bytes on are in files of their own
                admin.createTable(TableDescriptorBuilder.newBuilder(TableName.valueOf(w[1]))
                    .setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes(w[2]))
                        .setMobEnabled(true).setMobThreshold(100).build()).build());
                return "";
            case "flush": // TABLE
                admin.flush(TableName.valueOf(w[1]));
                return "";
            case "presplit": // TABLE FAMILY ROW...: a region from each row on
                admin.createTable(TableDescriptorBuilder.newBuilder(TableName.valueOf(w[1]))
                    .setColumnFamily(ColumnFamilyDescriptorBuilder.of(w[2])).build(),
                    Bytes.toByteArrays(Arrays.copyOfRange(w, 3, w.length)));
                return "";
            case "scanners": // TABLE PID: how many are open in the server of process PID
                return scanners(w[2]);
            case "count": // TABLE
                int n = 0;
                try (ResultScanner s = table.getScanner(new Scan().setCaching(10000))) {
                    for (Result r : s)
                        n++;
                }
                return Integer.toString(n);
            case "regions": // TABLE
                return Integer.toString(admin.getRegions(TableName.valueOf(w[1])).size());
            case "split": // TABLE ROW
                int before = admin.getRegions(TableName.valueOf(w[1])).size();
                admin.split(TableName.valueOf(w[1]), Bytes.toBytes(w[2]));
                for (int i = 0; admin.getRegions(TableName.valueOf(w[1])).size() == before; i++) {
                    if (i == 600)
                        throw new Exception("no split after a minute");
                    Thread.sleep(100);
                }
                return "";
            case "merge": // TABLE ROW ROW: the regions with these rows
                admin.mergeRegionsAsync(new byte[][] {region(w[1], w[2]).getRegionName(),
                    region(w[1], w[3]).getRegionName()}, false).get();
                return "";
            case "move": // TABLE ROW PORT: the region with the row, to the server at the port
                for (ServerName server : admin.getRegionServers())
                    if (server.getPort() == Integer.parseInt(w[3])) {
                        admin.move(region(w[1], w[2]).getEncodedNameAsBytes(), server);
                        return "";
                    }
                throw new Exception("no server at " + w[3]);
            case "server": // TABLE ROW: the port of the server that has it
                return Integer.toString(connection.getRegionLocator(TableName.valueOf(w[1]))
                    .getRegionLocation(Bytes.toBytes(w[2]), true).getPort());
            case "reopen": // TABLE: each region goes away and comes back
                for (RegionInfo r : admin.getRegions(TableName.valueOf(w[1])))
                    admin.unassign(r.getRegionName(), true);
                for (RegionInfo r : admin.getRegions(TableName.valueOf(w[1])))
                    admin.assign(r.getRegionName());
                return "";
            case "snapshot": // TABLE NAME
                admin.snapshot(w[2], TableName.valueOf(w[1]));
                return "";
            case "drop-snapshot": // TABLE NAME
                admin.deleteSnapshot(w[2]);
                return "";
            case "tables": // TABLE: how many have names that begin so
                int tables = 0;
                for (TableName t : admin.listTableNames())
                    if (t.getQualifierAsString().startsWith(w[1]))
                        tables++;
                return Integer.toString(tables);
            case "disable": // TABLE
                admin.disableTable(TableName.valueOf(w[1]));
                return "";
            case "drop": // TABLE
                admin.disableTable(TableName.valueOf(w[1]));
                admin.deleteTable(TableName.valueOf(w[1]));
                return "";
            case "add-family": // TABLE FAMILY
                admin.addColumnFamily(TableName.valueOf(w[1]), ColumnFamilyDescriptorBuilder.of(w[2]));
                return "";
            case "delete-family": // TABLE FAMILY
                admin.deleteColumnFamily(TableName.valueOf(w[1]), Bytes.toBytes(w[2]));
                return "";
            case "grant": // TABLE USER RIGHTS, such as RW
                admin.grant(new UserPermission(w[2], Permission.newBuilder(TableName.valueOf(w[1]))
                    .withActionCodes(Bytes.toBytes(w[3])).build()), false);
                return "";
            default:
                throw new Exception("no command " + w[0]);
            }
        }
    }

    /** The server tells its own figures to who attaches to it. */
    static String scanners(String pid) throws Exception {
        VirtualMachine vm = VirtualMachine.attach(pid);
        try (JMXConnector c = JMXConnectorFactory.connect(new JMXServiceURL(vm.startLocalManagementAgent()))) {
            return c.getMBeanServerConnection().getAttribute(
                new ObjectName("Hadoop:service=HBase,name=RegionServer,sub=Server"), "activeScanners").toString();
        } finally {
            vm.detach();
        }
    }

    public static void main(String[] args) throws Exception {
        org.apache.hadoop.conf.Configuration conf = HBaseConfiguration.create();
        // One that has tags of cells both ways.
        conf.set("hbase.client.rpc.codec", "org.apache.hadoop.hbase.codec.KeyValueCodecWithTags");
        connection = ConnectionFactory.createConnection(conf);
        if (args.length > 0) {
            String answer = run(args);
            if (!answer.isEmpty())
                System.out.println(answer);
            System.exit(0);
        }
        System.out.println("ok");
        try (Scanner in = new Scanner(System.in)) {
            while (in.hasNextLine()) {
                String line = in.nextLine();
                try {
                    System.out.println("ok " + run(line.split(" ")));
                } catch (Exception e) {
                    System.out.println("failed " + e.toString().replace('\n', ' '));
                }
            }
        }
        connection.close();
    }
}

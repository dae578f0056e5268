import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * HDFS, and YARN with a resource manager and a node manager whose containers are processes of their own, in one process. Writes what a
 * driver needs as {@code HADOOP_CONF_DIR}, prints a line when all serve, and ends with its standard input.
 *
 * <p>Arguments: a directory for data, logs and containers, the directory for the configuration, then settings of YARN as {@code key=value}.
 */
final class MiniYarn {
    private static final int MEMORY_MB = 6144;

    public static void main(String[] arguments) throws Exception {
        File work = new File(arguments[0]);
        Configuration hdfs = new HdfsConfiguration();
        hdfs.set("dfs.replication", "1");
        hdfs.set("dfs.datanode.scan.period.hours", "-1");
        MiniDFSCluster files = new MiniDFSCluster.Builder(hdfs, new File(work, "dfs")).numDataNodes(1).build();
        files.waitActive();
        FileSystem fileSystem = files.getFileSystem();
        fileSystem.mkdirs(new Path("/user/" + System.getProperty("user.name")));

        YarnConfiguration asked = settings(fileSystem);
        for (int i = 2; i < arguments.length; i++) {
            int equals = arguments[i].indexOf('=');
            asked.set(arguments[i].substring(0, equals), arguments[i].substring(equals + 1));
        }
        MiniYARNCluster cluster = new MiniYARNCluster("yarn", 1, 1, 1);
        cluster.init(asked);
        cluster.start();
        if (!cluster.waitForNodeManagersToConnect(60_000)) {
            throw new IllegalStateException("the node manager did not connect");
        }
        describe(cluster.getConfig(), new File(arguments[1]));
        System.out.println("ready");
        System.out.flush();
        while (System.in.read() >= 0) {
            // Whoever started this still wants it.
        }
        cluster.stop();
        files.shutdown(true);
        System.exit(0);
    }

    private static YarnConfiguration settings(FileSystem fileSystem) {
        YarnConfiguration conf = new YarnConfiguration();
        conf.set("fs.defaultFS", fileSystem.getUri().toString());
        conf.setInt("yarn.minicluster.yarn.nodemanager.resource.memory-mb", MEMORY_MB);
        conf.setInt("yarn.nodemanager.resource.memory-mb", MEMORY_MB);
        conf.setInt("yarn.nodemanager.resource.cpu-vcores", 16);
        conf.setInt("yarn.scheduler.minimum-allocation-mb", 128);
        conf.setInt("yarn.scheduler.maximum-allocation-mb", MEMORY_MB);
        conf.set("yarn.resourcemanager.scheduler.class", "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler");
        // Containers are watched as on a real node: by the memory of their process trees.
        conf.setBoolean("yarn.minicluster.control-resource-monitoring", true);
        conf.setBoolean("yarn.nodemanager.pmem-check-enabled", true);
        conf.setBoolean("yarn.nodemanager.vmem-check-enabled", false);
        // By default the node manager leaves it to cgroups, which this cluster does not have.
        conf.setBoolean("yarn.nodemanager.resource.memory.enforced", false);
        conf.setInt("yarn.nodemanager.container-monitor.interval-ms", 500);
        // Tests look into the containers' directories after the applications' ends.
        conf.setInt("yarn.nodemanager.delete.debug-delay-sec", 3600);
        // A full disk of the machine is not what is tested.
        conf.setBoolean("yarn.nodemanager.disk-health-checker.enable", false);
        return conf;
    }

    /** Writes the settings that clients need. */
    private static void describe(Configuration live, File directory) throws IOException {
        Configuration core = new Configuration(false);
        core.set("fs.defaultFS", live.get("fs.defaultFS"));
        write(core, new File(directory, "core-site.xml"));
        Configuration yarn = new Configuration(false);
        for (Map.Entry<String, String> entry : live) {
            String key = entry.getKey();
            if (key.startsWith("yarn.resourcemanager.") && key.contains("address") || key.startsWith("yarn.scheduler.m")
                    || key.startsWith("spark.") || key.equals("yarn.http.policy") || key.equals("yarn.resourcemanager.cluster-id")) {
                yarn.set(key, live.get(key));
            }
        }
        // Containers have Spark's own jars and nothing else.
        yarn.set("yarn.application.classpath", "/nonexistent");
        write(yarn, new File(directory, "yarn-site.xml"));
    }

    private static void write(Configuration conf, File file) throws IOException {
        try (OutputStream out = new FileOutputStream(file)) {
            conf.writeXml(out);
        }
    }
}

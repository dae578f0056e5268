import java.io.File;
import java.net.URI;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * A name node and a data node of HDFS in one process. Prints the URI of the file system when both serve, and ends with its standard input.
 *
 * <p>Arguments: the directory for blocks and images.
 */
final class MiniDfs {
    public static void main(String[] arguments) throws Exception {
        Configuration conf = new HdfsConfiguration();
        conf.set("dfs.replication", "1");
        // Files of several blocks need not be large.
        conf.set("dfs.namenode.fs-limits.min-block-size", "4096");
        conf.set("dfs.datanode.scan.period.hours", "-1");
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf, new File(arguments[0])).numDataNodes(1).build();
        try {
            cluster.waitActive();
            URI uri = cluster.getFileSystem().getUri();
            System.out.println(uri);
            System.out.flush();
            while (System.in.read() >= 0) {
                // Whoever started this still wants it.
            }
        } finally {
            cluster.shutdown(true);
        }
    }
}

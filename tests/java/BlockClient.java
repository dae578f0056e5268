import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.InputStream;
import java.io.ObjectOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.zip.Adler32;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.client.RpcResponseCallback;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.client.TransportClientBootstrap;
import org.apache.spark.network.crypto.AuthClientBootstrap;
import org.apache.spark.network.sasl.SecretKeyHolder;
import org.apache.spark.network.server.NoOpRpcHandler;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFile;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.ExternalBlockStoreClient;
import org.apache.spark.network.shuffle.SimpleDownloadFile;
import org.apache.spark.network.shuffle.protocol.UploadBlockStream;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;

/**
 * Spark's own client of block servers. Prints what it gets: ports, application, executor and block names are its
 * arguments. A port may be followed by settings and a secret with which it authenticates itself:
 * `PORT/SECRET/KEY=VALUE/...`.
 */
public class BlockClient {
  public static void main(String[] args) throws Exception {
    for (String target : args[0].split(",")) {
      String[] parts = target.split("/");
      Map<String, String> settings = new TreeMap<>(Map.of("spark.shuffle.io.maxRetries", "0"));
      for (int at = 2; at < parts.length; at++) {
        settings.put(parts[at].split("=")[0], parts[at].split("=")[1].replace(':', '/'));
      }
      ask(Integer.parseInt(parts[0]), new TransportConf("shuffle", new MapConfigProvider(settings)),
          parts.length > 1 ? new Secret(parts[1]) : null, args);
    }
  }

  record Secret(String text) implements SecretKeyHolder {
    @Override public String getSaslUser(String application) { return "sparkSaslUser"; }
    @Override public String getSecretKey(String application) { return text; }
  }

  static void ask(int port, TransportConf conf, Secret secret, String[] args) throws Exception {
    String[] blocks = Arrays.copyOfRange(args, 3, args.length);
    try (ExternalBlockStoreClient client = new ExternalBlockStoreClient(conf, secret, secret != null, 10000)) {
      client.init(args[1]);
      fetch("memory", client, port, args[2], blocks, null);
      fetch("missing", client, port, args[2], new String[] {"shuffle_3_10_9", "shuffle_3_12_0"}, null);
      fetch("file", client, port, args[2], blocks, new TemporaryFiles());
      System.out.println("cause " + client.diagnoseCorruption("localhost", port, args[2], 3, 10L, 0, 7L, "ADLER32"));
      for (String executor : new String[] {args[2], "another"}) {
        CompletableFuture<Map<String, String[]>> dirs = new CompletableFuture<>();
        client.getHostLocalDirs("localhost", port, new String[] {executor}, dirs);
        System.out.println("dirs " + dirs.handle((found, error) ->
            error == null ? String.join(",", found.get(executor)) : lastLine(error)).get(20, TimeUnit.SECONDS));
      }
    }
    List<TransportClientBootstrap> bootstraps =
        secret == null ? List.of() : List.of(new AuthClientBootstrap(conf, args[1], secret));
    try (TransportContext context = new TransportContext(conf, new NoOpRpcHandler());
        TransportClient client = context.createClientFactory(bootstraps).createClient("localhost", port)) {
      byte[] data = new byte[5_000_001];
      Arrays.fill(data, (byte) 42);
      CompletableFuture<String> uploaded = new CompletableFuture<>();
      client.uploadStream(
          new NioManagedBuffer(new UploadBlockStream("rdd_9_9", metadata()).toByteBuffer()),
          new NioManagedBuffer(ByteBuffer.wrap(data)),
          new RpcResponseCallback() {
            @Override public void onSuccess(ByteBuffer response) { uploaded.complete("stored " + response.remaining()); }
            @Override public void onFailure(Throwable error) { uploaded.complete(lastLine(error)); }
          });
      System.out.println("upload " + uploaded.get(20, TimeUnit.SECONDS));
    }
  }

  /** What Spark's own peers send with an upload, up to 4.2. */
  static byte[] metadata() throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(new Tuple2<>(StorageLevel.DISK_ONLY(), null));
    }
    return bytes.toByteArray();
  }

  static void fetch(String kind, ExternalBlockStoreClient client, int port, String executor, String[] blocks,
      DownloadFileManager files) throws Exception {
    Map<String, String> results = new TreeMap<>();
    CountDownLatch missing = new CountDownLatch(blocks.length);
    client.fetchBlocks("localhost", port, executor, blocks, new BlockFetchingListener() {
      @Override public void onBlockFetchSuccess(String block, ManagedBuffer data) {
        done(block, checksum(data));
      }

      @Override public void onBlockFetchFailure(String block, Throwable error) {
        done(block, "failed " + error.getMessage().lines().findFirst().orElse(""));
      }

      void done(String block, String result) {
        synchronized (results) {
          if (results.put(block, result) == null) {
            missing.countDown();
          }
        }
      }
    }, files);
    if (!missing.await(30, TimeUnit.SECONDS)) {
      throw new IllegalStateException("not all blocks came: " + results);
    }
    results.forEach((block, result) -> System.out.println(kind + " " + block + " " + result));
  }

  static String checksum(ManagedBuffer data) {
    try (InputStream in = data.createInputStream()) {
      Adler32 sum = new Adler32();
      byte[] bytes = in.readAllBytes();
      sum.update(bytes);
      return bytes.length + " " + sum.getValue();
    } catch (Exception error) {
      return error.toString();
    }
  }

  static String lastLine(Throwable error) {
    List<String> lines = new ArrayList<>(error.getMessage().lines().toList());
    return "refused " + lines.get(lines.size() - 1);
  }

  static final class TemporaryFiles implements DownloadFileManager {
    @Override public DownloadFile createTempFile(TransportConf conf) {
      try {
        File file = File.createTempFile("block", null);
        file.deleteOnExit();
        return new SimpleDownloadFile(file, conf);
      } catch (java.io.IOException error) {
        throw new java.io.UncheckedIOException(error);
      }
    }

    @Override public boolean registerTempFileToClean(DownloadFile file) {
      return true;
    }
  }
}

package probe;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import org.apache.spark.SparkConf;
import org.apache.spark.api.resource.ResourceDiscoveryPlugin;
import org.apache.spark.resource.ResourceInformation;
import org.apache.spark.resource.ResourceRequest;

/** Finds two devices of the resource {@code gpu} and no other resource; notes each question in the file {@code spark.probe.asked}. */
public final class Discovery implements ResourceDiscoveryPlugin {
  @Override
  public Optional<ResourceInformation> discoverResource(ResourceRequest request, SparkConf conf) {
    String name = request.id().resourceName();
    try {
      byte[] line = (name + "\n").getBytes();
      Files.write(Paths.get(conf.get("spark.probe.asked")), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    if (!name.equals("gpu")) {
      return Optional.empty();
    }
    return Optional.of(new ResourceInformation(name, new String[] {"left", "right"}));
  }
}

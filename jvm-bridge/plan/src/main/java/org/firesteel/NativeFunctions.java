package org.firesteel;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.types.DataType;
import scala.Function1;
import scala.Tuple3;
import scala.collection.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * {@code spark.sql.extensions=org.firesteel.NativeFunctions}, on the driver: scalar functions of shared libraries, of
 * which {@code firesteel functions catalog} has written files, are known to SQL by their names.
 *
 * <p>In Java: what Scala 2.12 makes of most things needs classes that 2.13 has not, and this runs with both.
 */
public final class NativeFunctions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  /** The files, separated by commas. */
  static final String CATALOG = "spark.firesteel.functions.catalog";
  /** Names of added files, and absolute paths, of libraries. */
  static final String LIBRARIES = "spark.firesteel.functions";
  /** Where {@code libfiresteel.so} is, for JVMs that are not within an executor of Firesteel. */
  static final String HOST = "spark.firesteel.functions.host";

  private static final int VERSION = 1;

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    SparkEnv environment = SparkEnv.get();
    String files = environment == null ? "" : environment.conf().get(CATALOG, "");
    for (String file : files.split(",")) {
      if (!file.trim().isEmpty()) {
        injectFile(extensions, file.trim());
      }
    }
    return BoxedUnit.UNIT;
  }

  private static void injectFile(SparkSessionExtensions extensions, String file) {
    try {
      String path = file.startsWith("file:") ? file.substring("file:".length()) : file;
      JsonNode library = new ObjectMapper().readTree(new File(path));
      if (library == null || !library.path("firesteel_functions").isInt()) {
        throw new IllegalArgumentException("`firesteel functions catalog` has not written it");
      }
      if (library.get("firesteel_functions").asInt() != VERSION) {
        throw new IllegalArgumentException("it is of another version than this jar");
      }
      for (JsonNode function : library.get("functions")) {
        if (function.get("kind").asText().equals("scalar")) {
          injectFunction(extensions, library, function);
        }
      }
    } catch (IOException | RuntimeException e) {
      throw new IllegalArgumentException(CATALOG + ": " + file + " cannot be read: " + e.getMessage(), e);
    }
  }

  private static void injectFunction(SparkSessionExtensions extensions, JsonNode library, JsonNode function) {
    String name = function.get("name").asText();
    List<NativeScalar> overloads = new ArrayList<>();
    for (JsonNode signature : function.get("signatures")) {
      List<DataType> arguments = new ArrayList<>();
      for (JsonNode argument : signature.get("argument_types")) {
        arguments.add(DataType.fromJson(argument.toString()));
      }
      overloads.add(new NativeScalar(
          library.get("library").asText(),
          library.get("name").asText(),
          library.get("version").asText(),
          name,
          overloads.size(),
          arguments.toArray(new DataType[0]),
          DataType.fromJson(signature.get("result_type").toString()),
          !function.get("volatility").asText().equals("volatile"),
          "UTC",
          false));
    }
    String description = function.get("description").asText();
    register(extensions, name, description, overloads);
    // As modules of Python name them.
    for (int number = 1; number < overloads.size(); number++) {
      register(extensions, name + "_" + number, description, overloads.subList(number, number + 1));
    }
  }

  @SuppressWarnings("unchecked")
  private static void register(
      SparkSessionExtensions extensions, String name, String description, List<NativeScalar> overloads) {
    ExpressionInfo info = new ExpressionInfo(NativeScalar.class.getName(), null, name, description, "");
    // The class of sequences is another in Scala 2.13. Nobody but the builder looks at them.
    Object builder = new Overloads(name, overloads);
    extensions.injectFunction(
        new Tuple3<>(new FunctionIdentifier(name), info, (Function1<Seq<Expression>, Expression>) builder));
  }
}

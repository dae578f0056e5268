package probe;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.storage.StorageLevel;
import org.apache.spark.util.LongAccumulator;
import scala.Tuple2;

/** Data frames and data sets of RDDs, and a database. */
public final class Scans {
  private Scans() {}

  private static JavaRDD<Long> numbers(SparkSession spark, long count) {
    List<Long> all = new ArrayList<>();
    for (long number = 0; number < count; number++) {
      all.add(number);
    }
    return JavaSparkContext.fromSparkContext(spark.sparkContext()).parallelize(all, 3);
  }

  private static Dataset<Row> frame(SparkSession spark, JavaRDD<Row> rows) {
    return spark.createDataFrame(rows, StructType.fromDDL("id long, s string, x double"));
  }

  private static Row row(long number) {
    return RowFactory.create(number, number % 7 == 0 ? null : "s" + number % 10, number / 4.0);
  }

  /** The rows of a data frame, which are an RDD once and data frame again. */
  public static Dataset<Row> again(SparkSession spark, Dataset<Row> frame) {
    return spark.createDataFrame(frame.toJavaRDD(), frame.schema());
  }

  /** Rows that functions make. */
  public static Dataset<Row> mapped(SparkSession spark, long count) {
    return frame(spark, numbers(spark, count).map(Scans::row));
  }

  /** Rows that a shuffle orders. */
  public static Dataset<Row> sorted(SparkSession spark, long count) {
    return frame(spark, numbers(spark, count).sortBy(number -> -number, true, 4).map(Scans::row));
  }

  /** Rows that are kept. */
  public static Dataset<Row> kept(SparkSession spark, long count) {
    JavaRDD<Row> rows = numbers(spark, count).map(Scans::row).persist(StorageLevel.MEMORY_ONLY());
    rows.count();
    return frame(spark, rows);
  }

  /** Rows, each of which somebody counts. */
  public static Dataset<Row> counted(SparkSession spark, long count, LongAccumulator counter) {
    return frame(spark, numbers(spark, count).map(number -> {
      counter.add(1);
      return row(number);
    }));
  }

  public static LongAccumulator counter(SparkSession spark) {
    return spark.sparkContext().longAccumulator();
  }

  /** Rows, one of which cannot be made. */
  public static Dataset<Row> failing(SparkSession spark) {
    return frame(spark, numbers(spark, 100).map(number -> {
      if (number == 70) {
        throw new IllegalStateException("not this one");
      }
      return row(number);
    }));
  }

  /** Rows that take hours. */
  public static Dataset<Row> slow(SparkSession spark) {
    return frame(spark, numbers(spark, 1000).map(number -> {
      Thread.sleep(60_000);
      return row(number);
    }));
  }

  /** A data set of an RDD of objects. */
  public static Dataset<?> objects(SparkSession spark, long count) {
    JavaRDD<Tuple2<Long, String>> pairs =
        numbers(spark, count).map(number -> new Tuple2<>(number, number % 3 == 0 ? null : "t" + number % 5));
    return spark
        .createDataset(pairs.rdd(), Encoders.tuple(Encoders.LONG(), Encoders.STRING()))
        .filter((org.apache.spark.api.java.function.FilterFunction<Tuple2<Long, String>>) pair -> pair._1() % 2 == 0);
  }

  /** A data set of an RDD of numbers. */
  public static Dataset<?> plain(SparkSession spark, long count) {
    return spark.createDataset(numbers(spark, count).rdd(), Encoders.LONG());
  }

  /** A database with a table of rows, which nobody else has open afterwards. */
  public static void database(String path, int rows) throws SQLException {
    try (Connection connection = DriverManager.getConnection("jdbc:derby:" + path + ";create=true");
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE TABLE things (id INT, name VARCHAR(20), price DECIMAL(10,2), day DATE)");
      for (int row = 0; row < rows; row++) {
        String name = row % 5 == 0 ? "NULL" : "'n" + row + "'";
        statement.execute("INSERT INTO things VALUES (" + row + ", " + name + ", " + row + ".25, '2024-02-29')");
      }
    }
    try {
      DriverManager.getConnection("jdbc:derby:" + path + ";shutdown=true");
    } catch (SQLException e) {
      // That is how it says that it is shut down.
      if (!"08006".equals(e.getSQLState())) {
        throw e;
      }
    }
  }
}

package probe;

import java.math.BigDecimal;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.FilterFunction;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF0;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.LongAccumulator;

/** Functions of all types. */
public final class Functions {
  private Functions() {}

  public static void register(SparkSession spark) {
    DataType texts = DataTypes.createArrayType(DataTypes.StringType);
    DataType numbers = DataTypes.createMapType(DataTypes.StringType, DataTypes.DoubleType);
    StructType record = new StructType().add("n", DataTypes.LongType).add("texts", texts).add("numbers", numbers);
    StructType pair = new StructType().add("t", DataTypes.TimestampType).add("d", DataTypes.createDecimalType(38, 18));
    spark.udf().register("j_seven", (UDF0<Integer>) () -> 7, DataTypes.IntegerType);
    spark.udf().register("j_twice", (UDF1<Number, Long>) n -> n == null ? -1 : 2 * n.longValue(), DataTypes.LongType);
    spark.udf().register("j_mean", (UDF2<Double, Float, Double>) Functions::mean, DataTypes.DoubleType);
    spark.udf().register("j_small", (UDF2<Byte, Short, Integer>) Functions::small, DataTypes.IntegerType);
    spark.udf().register("j_not", (UDF1<Boolean, Boolean>) b -> b == null ? null : !b, DataTypes.BooleanType);
    spark.udf().register("j_text", (UDF1<Object, String>) String::valueOf, DataTypes.StringType);
    spark.udf().register("j_bytes", (UDF1<byte[], byte[]>) Functions::reversed, DataTypes.BinaryType);
    spark.udf().register("j_decimal", (UDF1<BigDecimal, BigDecimal>) d -> d == null ? null : d.negate(),
        DataTypes.createDecimalType(38, 18));
    spark.udf().register("j_date", (UDF1<Date, Date>) d -> d == null ? null : Date.valueOf(d.toLocalDate().plusDays(1)),
        DataTypes.DateType);
    spark.udf().register("j_time", (UDF1<Timestamp, Timestamp>) t -> t, DataTypes.TimestampType);
    spark.udf().register("j_local_date", (UDF1<LocalDate, String>) d -> d + "", DataTypes.StringType);
    spark.udf().register("j_instant", (UDF1<Instant, String>) t -> t + "", DataTypes.StringType);
    spark.udf().register("j_record", (UDF2<Long, String, Row>) Functions::record, record);
    spark.udf().register("j_of_record", (UDF1<Row, String>) r -> r == null ? "none" : r.toString(), DataTypes.StringType);
    spark.udf().register("j_array", (UDF1<scala.collection.Seq<Integer>, List<String>>) Functions::items, texts);
    spark.udf().register("j_pair", (UDF2<Timestamp, BigDecimal, Row>) RowFactory::create, pair);
    spark.udf().register("j_odd", (UDF1<Long, Long>) Functions::odd, DataTypes.LongType);
    spark.udf().register("j_where", (UDF1<Long, String>) Functions::where, DataTypes.StringType);
    spark.udf().register("j_slow", (UDF1<Long, Long>) Functions::slow, DataTypes.LongType);
    UserDefinedFunction counted = functions.udf((UDF1<Long, Long>) new Counted(), DataTypes.LongType);
    spark.udf().register("j_counted", counted.asNondeterministic());
  }

  /** A function that adds to an accumulator, and one that has a value of a broadcast. */
  public static LongAccumulator registerShared(SparkSession spark) {
    LongAccumulator added = spark.sparkContext().longAccumulator("added");
    Broadcast<String> sent = new JavaSparkContext(spark.sparkContext()).broadcast("sent");
    spark.udf().register("j_adds", (UDF1<Long, Long>) n -> {
      added.add(n);
      return n;
    }, DataTypes.LongType);
    spark.udf().register("j_sent", (UDF1<Long, String>) n -> sent.value() + n, DataTypes.StringType);
    return added;
  }

  /** Rows that a function of a typed data set keeps. */
  public static Dataset<Row> typed(Dataset<Row> rows) {
    return rows.filter((FilterFunction<Row>) row -> row.<Long>getAs("id") % 3 == 1 && row.getAs("s") != null);
  }

  private static Double mean(Double x, Float y) {
    return x == null || y == null ? null : (x + y) / 2;
  }

  private static Integer small(Byte b, Short h) {
    return b == null || h == null ? null : b * h;
  }

  private static byte[] reversed(byte[] bytes) {
    if (bytes == null) {
      return null;
    }
    byte[] turned = new byte[bytes.length];
    for (int i = 0; i < bytes.length; i++) {
      turned[i] = bytes[bytes.length - 1 - i];
    }
    return turned;
  }

  private static Row record(Long n, String text) {
    if (n % 5 == 0) {
      return null;
    }
    List<String> texts = new ArrayList<>();
    Map<String, Double> numbers = new HashMap<>();
    for (int i = 0; i < n % 4; i++) {
      texts.add(i == 2 ? null : text);
    }
    if (text != null) {
      numbers.put(text, n / 7.0);
    }
    return RowFactory.create(n % 3 == 0 ? null : n, texts, scala.collection.JavaConverters.mapAsScalaMap(numbers));
  }

  private static List<String> items(scala.collection.Seq<Integer> all) {
    if (all == null) {
      return null;
    }
    List<String> items = new ArrayList<>();
    scala.collection.Iterator<Integer> each = all.iterator();
    while (each.hasNext()) {
      items.add(String.valueOf((Object) each.next()));
    }
    return items;
  }

  private static Long odd(Long n) {
    if (n % 2 == 0) {
      throw new IllegalStateException("even: " + n);
    }
    return n;
  }

  private static String where(Long n) {
    TaskContext task = TaskContext.get();
    return task.partitionId() + " of " + task.numPartitions() + ", " + task.attemptNumber() + ", "
        + task.getLocalProperty("probe.property");
  }

  private static Long slow(Long n) throws InterruptedException {
    Thread.sleep(100);
    return n;
  }

  /** Counts its calls. */
  static final class Counted implements UDF1<Long, Long> {
    private long calls;

    @Override
    public Long call(Long n) {
      return ++calls;
    }
  }
}

package probe;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.CoGroupFunction;
import org.apache.spark.api.java.function.FilterFunction;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.api.java.function.FlatMapGroupsFunction;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.api.java.function.MapGroupsFunction;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.api.java.function.ReduceFunction;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.KeyValueGroupedDataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.util.LongAccumulator;
import org.apache.spark.util.TaskCompletionListener;
import scala.Tuple2;

/** Typed data sets: what is made of rows with values of all types, and of many numbers. */
public final class Typed {
  private static final Encoder<Long> LONG = Encoders.LONG();
  private static final Encoder<String> STRING = Encoders.STRING();
  private static final Encoder<Tuple2<Long, String>> PAIR = Encoders.tuple(LONG, STRING);

  private final SparkSession spark;
  private final Dataset<Row> values;
  private final Dataset<Row> many;
  private final LongAccumulator added;
  private final Map<String, Dataset<?>> all = new LinkedHashMap<>();

  /** An object that is neither a bean nor of a type of Spark's. */
  public static final class Opaque implements java.io.Serializable {
    final long number;

    Opaque(long number) {
      this.number = number;
    }
  }

  private Typed(SparkSession spark, Dataset<Row> values, Dataset<Row> many, LongAccumulator added) {
    this.spark = spark;
    this.values = values;
    this.many = many;
    this.added = added;
  }

  /** Registers what is used besides. */
  public static LongAccumulator register(SparkSession spark) {
    spark.udf().register("o_twice", (UDF1<Long, Long>) n -> n == null ? null : 2 * n, DataTypes.LongType);
    return spark.sparkContext().longAccumulator("objects");
  }

  /** By name. Values have a column of each type, many an {@code id} and a text {@code s}. */
  public static Map<String, Dataset<?>> all(
      SparkSession spark, Dataset<Row> values, Dataset<Row> many, LongAccumulator added) {
    Typed typed = new Typed(spark, values, many, added);
    typed.types();
    typed.chains();
    typed.partitions();
    typed.groups();
    typed.places();
    return typed.all;
  }

  /** What fails. */
  public static Map<String, Dataset<?>> faults(
      SparkSession spark, Dataset<Row> values, Dataset<Row> many, LongAccumulator added) {
    Typed typed = new Typed(spark, values, many, added);
    typed.faults();
    return typed.all;
  }

  /** What adds to an accumulator. */
  public static Map<String, Dataset<?>> adding(
      SparkSession spark, Dataset<Row> values, Dataset<Row> many, LongAccumulator added) {
    Typed typed = new Typed(spark, values, many, added);
    typed.adding();
    return typed.all;
  }

  /** Hours of work. */
  public static Dataset<Long> slow(Dataset<Row> many) {
    return numbers(many).map((MapFunction<Long, Long>) n -> {
      Thread.sleep(100);
      return n;
    }, LONG);
  }

  private static Dataset<Long> numbers(Dataset<Row> many) {
    return many.select("id").as(LONG);
  }

  private Dataset<Long> numbers() {
    return numbers(many);
  }

  private Dataset<Item> items() {
    return values.as(Encoders.bean(Item.class));
  }

  private void types() {
    all.put("beans", items().map((MapFunction<Item, Item>) Typed::changed, Encoders.bean(Item.class)));
    all.put("beans as they are", items().map((MapFunction<Item, Item>) item -> item, Encoders.bean(Item.class)));
    all.put("parts of beans", items().map((MapFunction<Item, Item.Part>) Item::getPart, Encoders.bean(Item.Part.class)));
    all.put("texts of beans", items().map((MapFunction<Item, String>) item -> item.getS() + item.getA() + item.getM(), STRING));
    all.put("rows", values.map((MapFunction<Row, Row>) row -> row, Encoders.row(values.schema())));
    all.put("rows to texts", values.drop("m", "bin").map((MapFunction<Row, String>) row -> "of " + row, STRING));
    all.put("longs", numbers().map((MapFunction<Long, Long>) n -> n % 5 == 0 ? null : 3 * n, LONG).toDF().groupBy().sum());
    all.put("ints", numbers().map((MapFunction<Long, Integer>) Long::intValue, Encoders.INT()).toDF().groupBy().sum());
    all.put("shorts", numbers().map((MapFunction<Long, Short>) Long::shortValue, Encoders.SHORT()).toDF().groupBy().sum());
    all.put("bytes", numbers().map((MapFunction<Long, Byte>) Long::byteValue, Encoders.BYTE()).toDF().groupBy().sum());
    all.put("floats", numbers().map((MapFunction<Long, Float>) n -> n / 4f, Encoders.FLOAT()).toDF().groupBy().max());
    all.put("doubles", numbers().map((MapFunction<Long, Double>) n -> n / 8.0, Encoders.DOUBLE()).toDF().groupBy().sum());
    all.put("booleans", numbers().map((MapFunction<Long, Boolean>) n -> n % 3 == 0, Encoders.BOOLEAN()).toDF().groupBy("value").count());
    all.put("decimals", numbers().map((MapFunction<Long, BigDecimal>) n -> BigDecimal.valueOf(n, 3), Encoders.DECIMAL()).toDF().groupBy().sum());
    all.put("binaries", numbers().map((MapFunction<Long, byte[]>) n -> ("b" + n % 3).getBytes(), Encoders.BINARY()).toDF().groupBy("value").count());
    all.put("dates", numbers().map((MapFunction<Long, LocalDate>) n -> LocalDate.ofEpochDay(n - 9000), Encoders.LOCALDATE()).toDF().groupBy().agg(functions.min("value"), functions.max("value")));
    all.put("instants", numbers().map((MapFunction<Long, Instant>) n -> Instant.ofEpochSecond(n * 86_401), Encoders.INSTANT()).selectExpr("min(value) a", "max(value) b", "sum(hour(value)) c"));
    all.put("pairs", many.map((MapFunction<Row, Tuple2<Long, String>>) row -> new Tuple2<>(row.getLong(0) % 9, row.getString(1)), PAIR).toDF("k", "v").groupBy("k").agg(functions.max("v"), functions.count("*")));
    all.put("kryo", numbers().map((MapFunction<Long, Opaque>) Opaque::new, Encoders.kryo(Opaque.class)).map((MapFunction<Opaque, Long>) o -> o.number, LONG).toDF().groupBy().sum());
    all.put("kept by kryo", numbers().map((MapFunction<Long, Opaque>) Opaque::new, Encoders.kryo(Opaque.class)).repartition(3).map((MapFunction<Opaque, Long>) o -> o.number, LONG).toDF().groupBy().sum());
    all.put("java objects", numbers().map((MapFunction<Long, Opaque>) Opaque::new, Encoders.javaSerialization(Opaque.class)).repartition(3).map((MapFunction<Opaque, Long>) o -> o.number, LONG).toDF().groupBy().sum());
  }

  private static Item changed(Item item) {
    Item other = new Item();
    other.setId(item.getId() + 100);
    other.setS(item.getS() == null ? "none" : item.getS() + "!");
    other.setX(item.getF() == null ? null : item.getF().doubleValue());
    other.setD(item.getD() == null ? null : item.getD().negate());
    other.setBin(item.getS() == null ? null : item.getS().getBytes(java.nio.charset.StandardCharsets.UTF_8));
    other.setDay(item.getDay());
    other.setMoment(item.getMoment());
    other.setA(item.getA() == null ? Arrays.asList(1, null) : Collections.emptyList());
    other.setM(item.getM() == null ? Collections.singletonMap("k", null) : Collections.emptyMap());
    Item.Part part = new Item.Part();
    part.setN(item.getB() == null ? 0 : item.getB());
    part.setText(item.getS());
    other.setPart(item.getId() == 3 ? null : part);
    return other;
  }

  private void chains() {
    all.put("filter and map", numbers().filter((FilterFunction<Long>) n -> n % 3 == 1).map((MapFunction<Long, Long>) n -> n + 1, LONG).toDF().groupBy().sum());
    all.put("map and filter", numbers().map((MapFunction<Long, Long>) n -> n + 1, LONG).filter((FilterFunction<Long>) n -> n % 3 == 1).filter((FilterFunction<Long>) n -> n % 2 == 1).map((MapFunction<Long, String>) n -> "n" + n % 7, STRING).toDF().groupBy("value").count());
    all.put("objects between", numbers().map((MapFunction<Long, Tuple2<Long, String>>) n -> new Tuple2<>(n, "t" + n % 5), PAIR).filter((FilterFunction<Tuple2<Long, String>>) p -> p._1() % 2 == 0).map((MapFunction<Tuple2<Long, String>, String>) Tuple2::_2, STRING).toDF().groupBy("value").count());
    Dataset<Long> deep = numbers();
    for (int i = 0; i < 30; i++) {
      deep = deep.map((MapFunction<Long, Long>) n -> n + 1, LONG);
    }
    all.put("deep", deep.toDF().groupBy().sum());
    all.put("columns between", numbers().map((MapFunction<Long, Long>) n -> n + 1, LONG).where("value % 3 = 0").select(functions.expr("value * 2").as("value")).as(LONG).map((MapFunction<Long, Long>) n -> n - 1, LONG).where("value > 100").toDF().groupBy().sum());
    all.put("functions between", numbers().map((MapFunction<Long, Long>) n -> n + 1, LONG).selectExpr("o_twice(value) value").as(LONG).map((MapFunction<Long, Long>) n -> n - 1, LONG).selectExpr("sum(o_twice(value))"));
    all.put("flat", many.select("s").as(STRING).flatMap((FlatMapFunction<String, String>) s -> Arrays.asList(s.split("")).iterator(), STRING).toDF().groupBy("value").count());
    all.put("flat and nothing", numbers().flatMap((FlatMapFunction<Long, Long>) n -> n % 1000 == 7 ? Arrays.asList(n, -n).iterator() : Collections.<Long>emptyIterator(), LONG));
  }

  private void partitions() {
    all.put("whole partitions", numbers().mapPartitions((MapPartitionsFunction<Long, String>) Typed::summed, STRING));
    all.put("where they are", numbers().mapPartitions((MapPartitionsFunction<Long, String>) rows -> Collections.singletonList(where()).iterator(), STRING));
    all.put("nothing of all", numbers().mapPartitions((MapPartitionsFunction<Long, Long>) rows -> Collections.<Long>emptyIterator(), LONG));
    all.put("more than all", numbers().mapPartitions((MapPartitionsFunction<Long, Long>) Typed::repeated, LONG).toDF().groupBy().agg(functions.count("*"), functions.sum("value")));
    all.put("without end", numbers().mapPartitions((MapPartitionsFunction<Long, Long>) rows -> new Endless(), LONG).limit(5));
    all.put("empty partitions", values.select("id").as(LONG).repartition(7).mapPartitions((MapPartitionsFunction<Long, String>) rows -> Collections.singletonList(rows.hasNext() ? "some" : "none").iterator(), STRING).toDF().groupBy("value").agg(functions.expr("count(*) > 0")));
    all.put("no rows", numbers().where("id < 0").as(LONG).map((MapFunction<Long, Long>) n -> n, LONG));
    all.put("sorted before", numbers().sortWithinPartitions(functions.col("id").desc()).as(LONG).mapPartitions((MapPartitionsFunction<Long, Long>) Typed::first, LONG));
    all.put("in one task", numbers().mapPartitions((MapPartitionsFunction<Long, String>) Typed::summed, STRING).coalesce(1).toDF().groupBy().count());
    all.put("columns that nobody needs", numbers().mapPartitions((MapPartitionsFunction<Long, Long>) rows -> rows, LONG).toDF().groupBy().count());
    Broadcast<String> sent = new JavaSparkContext(spark.sparkContext()).broadcast("sent");
    all.put("a broadcast", numbers().map((MapFunction<Long, String>) n -> sent.value() + n % 4, STRING).distinct());
  }

  private static Iterator<String> summed(Iterator<Long> rows) {
    long sum = 0;
    while (rows.hasNext()) {
      sum += rows.next();
    }
    return Collections.singletonList(TaskContext.getPartitionId() + ": " + sum).iterator();
  }

  /** Asks whether there is one: Spark's generated code gives none to who does not. */
  private static Iterator<Long> first(Iterator<Long> rows) {
    return rows.hasNext() ? Collections.singletonList(rows.next()).iterator() : Collections.<Long>emptyIterator();
  }

  private static Iterator<Long> repeated(Iterator<Long> rows) {
    List<Long> all = new ArrayList<>();
    rows.forEachRemaining(all::add);
    List<Long> more = new ArrayList<>(all);
    more.addAll(all);
    return more.iterator();
  }

  private static String where() {
    TaskContext task = TaskContext.get();
    return task.partitionId() + " of " + task.numPartitions() + ", " + task.attemptNumber() + ", "
        + task.getLocalProperty("probe.property");
  }

  /** Numbers without end. */
  private static final class Endless implements Iterator<Long> {
    @Override
    public boolean hasNext() {
      return true;
    }

    @Override
    public Long next() {
      return 7L;
    }
  }

  private KeyValueGroupedDataset<Long, Row> keyed() {
    return many.groupByKey((MapFunction<Row, Long>) row -> row.getLong(0) % 11, LONG);
  }

  private void groups() {
    all.put("groups", keyed().mapGroups((MapGroupsFunction<Long, Row, String>) Typed::group, STRING));
    all.put("flat groups", keyed().flatMapGroups((FlatMapGroupsFunction<Long, Row, Long>) (key, rows) -> key % 2 == 0 ? Arrays.asList(key, rows.next().getLong(0) % 11).iterator() : Collections.<Long>emptyIterator(), LONG));
    all.put("counted groups", keyed().count());
    all.put("reduced groups", numbers().groupByKey((MapFunction<Long, Long>) n -> n % 5, LONG).reduceGroups((ReduceFunction<Long>) Long::sum));
    all.put("values of groups", keyed().mapValues((MapFunction<Row, String>) row -> row.getString(1), STRING).mapGroups((MapGroupsFunction<Long, String, String>) Typed::texts, STRING));
    all.put("groups of objects", numbers().map((MapFunction<Long, Long>) n -> n + 1, LONG).groupByKey((MapFunction<Long, String>) n -> "k" + n % 4, STRING).mapGroups((MapGroupsFunction<String, Long, Tuple2<Long, String>>) (key, rows) -> new Tuple2<>(count(rows), key), PAIR));
    all.put("sorted groups", keyed().flatMapSortedGroups(new Column[] {functions.col("id").desc()}, (FlatMapGroupsFunction<Long, Row, Long>) (key, rows) -> Arrays.asList(rows.next().getLong(0), rows.next().getLong(0)).iterator(), LONG));
    all.put("null keys", values.groupByKey((MapFunction<Row, String>) row -> row.getAs("s"), STRING).mapGroups((MapGroupsFunction<String, Row, String>) (key, rows) -> key + count(rows), STRING));
    KeyValueGroupedDataset<Long, Long> other = numbers().filter((FilterFunction<Long>) n -> n % 11 < 5).groupByKey((MapFunction<Long, Long>) n -> n % 13, LONG);
    all.put("two inputs", keyed().cogroup(other, (CoGroupFunction<Long, Row, Long, String>) (key, left, right) -> Collections.singletonList(key + ": " + count(left) + ", " + count(right)).iterator(), STRING));
  }

  private static String group(Long key, Iterator<Row> rows) {
    long sum = 0;
    String most = "";
    while (rows.hasNext()) {
      Row row = rows.next();
      sum += row.getLong(0);
      most = most.compareTo(row.getString(1)) < 0 ? row.getString(1) : most;
    }
    return key + ": " + sum + ", " + most;
  }

  private static String texts(Long key, Iterator<String> rows) {
    String most = "";
    while (rows.hasNext()) {
      String row = rows.next();
      most = most.compareTo(row) < 0 ? row : most;
    }
    return key + ": " + most;
  }

  private static long count(Iterator<?> rows) {
    long count = 0;
    for (; rows.hasNext(); rows.next()) {
      count++;
    }
    return count;
  }

  private void places() {
    Dataset<Row> mapped = numbers().map((MapFunction<Long, Long>) n -> n % 100, LONG).toDF("k");
    Dataset<Row> others = numbers().map((MapFunction<Long, Long>) n -> n * 3, LONG).toDF("k");
    all.put("joined", mapped.join(others, "k").groupBy().agg(functions.count("*"), functions.sum("k")));
    all.put("joined by sorting", mapped.hint("merge").join(others, "k").groupBy().agg(functions.count("*"), functions.sum("k")));
    all.put("below a broadcast", mapped.join(functions.broadcast(others.where("k < 30")), "k").groupBy().count());
    all.put("united", mapped.union(others).union(values.select("id")).groupBy().sum());
    all.put("sorted", others.orderBy(functions.col("k").desc()).limit(7));
    all.put("limited", numbers().coalesce(1).map((MapFunction<Long, Long>) n -> n + 5, LONG).limit(3));
    all.put("windows", mapped.selectExpr("k", "row_number() over (partition by k order by k) r").groupBy().agg(functions.sum("r")));
    all.put("cached", numbers().map((MapFunction<Long, Long>) n -> n + 7, LONG).cache().toDF().groupBy().sum());
    all.put("joined with", items().joinWith(items(), functions.lit(true)).map((MapFunction<Tuple2<Item, Item>, String>) p -> p._1().getId() + "-" + p._2().getS(), STRING));
    all.put("local", spark.createDataset(Arrays.asList(1L, 2L, 3L), LONG).map((MapFunction<Long, Long>) n -> n + 1, LONG));
    all.put("distinct", numbers().map((MapFunction<Long, String>) n -> "d" + n % 6, STRING).distinct());
  }

  private void faults() {
    all.put("fails", numbers().map((MapFunction<Long, Long>) Typed::odd, LONG));
    all.put("fails late", numbers().mapPartitions((MapPartitionsFunction<Long, Long>) Typed::failing, LONG).toDF().groupBy().sum());
    all.put("a null bean", items().map((MapFunction<Item, Item>) item -> item.getId() == 2 ? null : item, Encoders.bean(Item.class)));
    all.put("another class", values.selectExpr("cast(id as string) value").as(STRING).map((MapFunction<String, Long>) s -> (Long) (Object) s, LONG));
    all.put("an end that fails", numbers().mapPartitions((MapPartitionsFunction<Long, Long>) Typed::badlyEnded, LONG));
    all.put("groups fail", keyed().mapGroups((MapGroupsFunction<Long, Row, Long>) (key, rows) -> odd(key), LONG));
    all.put("not needed", numbers().where("id % 2 = 1").as(LONG).map((MapFunction<Long, Long>) Typed::odd, LONG).toDF().groupBy().sum());
  }

  private static long odd(Long n) {
    if (n % 2 == 0) {
      throw new IllegalStateException("even: " + n);
    }
    return n;
  }

  private static Iterator<Long> failing(Iterator<Long> rows) {
    long last = 0;
    while (rows.hasNext()) {
      last = rows.next();
    }
    throw new IllegalStateException("last: " + last % 2);
  }

  private static Iterator<Long> badlyEnded(Iterator<Long> rows) {
    TaskContext.get().addTaskCompletionListener((TaskCompletionListener) context -> {
      throw new IllegalStateException("not closed");
    });
    return rows;
  }

  private void adding() {
    all.put("adds", numbers().map((MapFunction<Long, Long>) this.adder(), LONG).toDF().groupBy().sum());
    all.put("adds in groups", keyed().mapGroups(this.groupAdder(), LONG).toDF().groupBy().sum());
    all.put("adds and limit", numbers().coalesce(1).map(this.adder(), LONG).limit(2));
  }

  private MapFunction<Long, Long> adder() {
    LongAccumulator to = added;
    return n -> {
      to.add(n);
      return n;
    };
  }

  private MapGroupsFunction<Long, Row, Long> groupAdder() {
    LongAccumulator to = added;
    return (key, rows) -> {
      to.add(key + 1);
      return count(rows);
    };
  }
}

package probe;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.TreeMap;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.FlatMapGroupsWithStateFunction;
import org.apache.spark.api.java.function.ForeachPartitionFunction;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.expressions.Aggregator;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.GroupState;
import org.apache.spark.sql.streaming.GroupStateTimeout;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.storage.StorageLevel;
import org.apache.spark.util.LongAccumulator;
import org.apache.spark.util.TaskCompletionListener;
import scala.Tuple2;

/** What programs do with the rows of queries, outside of queries. Rows have a text and a number, in this order. */
public final class Rests {
  private Rests() {}

  private static List<String> sorted(List<String> texts) {
    List<String> all = new ArrayList<>(texts);
    Collections.sort(all);
    return all;
  }

  /** All rows. */
  public static List<String> collected(Dataset<Row> frame) {
    return sorted(frame.javaRDD().map(row -> row.toString()).collect());
  }

  public static long counted(Dataset<Row> frame) {
    return frame.javaRDD().count();
  }

  /** Rows as the driver fetches them, partition by partition. */
  public static List<String> local(Dataset<Row> frame) {
    List<String> all = new ArrayList<>();
    for (Iterator<Row> rows = frame.toLocalIterator(); rows.hasNext(); ) {
      all.add(rows.next().toString());
    }
    return sorted(all);
  }

  private static JavaPairRDD<String, Long> pairs(Dataset<Row> frame) {
    return frame.javaRDD().mapToPair(row -> new Tuple2<>(String.valueOf(row.get(0)), row.isNullAt(1) ? -1 : row.getLong(1)));
  }

  /** Sums by text, through a shuffle of pairs. */
  public static List<String> byKey(Dataset<Row> frame) {
    return sorted(pairs(frame).reduceByKey(Long::sum).map(pair -> pair.toString()).collect());
  }

  /** Texts, sorted as pairs. */
  public static List<String> inOrder(Dataset<Row> frame) {
    return pairs(frame).sortByKey(false, 2).map(pair -> pair._1()).collect();
  }

  /** Adds numbers to an accumulator, row by row. */
  public static long added(SparkSession spark, Dataset<Row> frame) {
    LongAccumulator sum = spark.sparkContext().longAccumulator();
    frame.javaRDD().foreach(row -> sum.add(row.isNullAt(1) ? 1 : row.getLong(1)));
    return sum.sum();
  }

  /** What partitions know of their tasks. */
  public static List<String> tasks(Dataset<Row> frame) {
    return sorted(frame.javaRDD().mapPartitionsWithIndex((index, rows) -> {
      TaskContext task = TaskContext.get();
      int count = 0;
      for (; rows.hasNext(); rows.next()) {
        count++;
      }
      String found = index + " " + count + " " + task.partitionId() + " " + task.attemptNumber() + " "
          + (task.taskAttemptId() >= 0) + " " + task.getLocalProperty("spark.job.description");
      return List.of(found).iterator();
    }, true).collect());
  }

  /** Whether each partition has a task of its own. */
  public static boolean ids(Dataset<Row> frame) {
    JavaRDD<Row> rows = frame.javaRDD();
    JavaRDD<Long> ids = rows.mapPartitions(each -> List.of(TaskContext.get().taskAttemptId()).iterator());
    return ids.distinct().count() == rows.getNumPartitions();
  }

  /** Fails where it is tried for the first time. */
  public static long secondTime(Dataset<Row> frame) {
    return frame.javaRDD().filter(row -> {
      if (TaskContext.get().attemptNumber() == 0) {
        throw new IllegalStateException("not yet");
      }
      return true;
    }).count();
  }

  /** The number of rows of which the first few were asked for. */
  public static long some(Dataset<Row> frame, int most) {
    return frame.javaRDD().mapPartitions(rows -> {
      List<Integer> lengths = new ArrayList<>();
      while (lengths.size() < most && rows.hasNext()) {
        lengths.add(rows.next().length());
      }
      return lengths.iterator();
    }).count();
  }

  /** Fails at a number. */
  public static long failing(Dataset<Row> frame, long at) {
    return frame.javaRDD().filter(row -> {
      if (!row.isNullAt(1) && row.getLong(1) == at) {
        throw new IllegalStateException("not this one");
      }
      return true;
    }).count();
  }

  /** Fails before it has seen a row. */
  public static long refusing(Dataset<Row> frame) {
    return frame.javaRDD().<Row>mapPartitions(rows -> {
      throw new IllegalArgumentException("none at all");
    }).count();
  }

  /** Fails when a task ends. */
  public static long endingBadly(Dataset<Row> frame) {
    return frame.javaRDD().mapPartitions(rows -> {
      TaskContext.get().addTaskCompletionListener((TaskCompletionListener) task -> {
        throw new IllegalStateException("not so");
      });
      return rows;
    }).count();
  }

  /** Rows that are kept, and counted twice. */
  public static String kept(Dataset<Row> frame) {
    JavaRDD<String> kept = frame.javaRDD().map(row -> row.toString()).persist(StorageLevel.MEMORY_ONLY());
    String found = kept.count() + " " + kept.count() + " " + kept.distinct().count();
    kept.unpersist(true);
    return found;
  }

  public static List<String> numbered(Dataset<Row> frame) {
    TreeMap<Long, Long> numbers = new TreeMap<>();
    for (Tuple2<Row, Long> each : frame.javaRDD().zipWithIndex().collect()) {
      numbers.merge(each._2(), 1L, Long::sum);
    }
    return List.of(numbers.firstKey().toString(), numbers.lastKey().toString(), String.valueOf(numbers.size()));
  }

  public static void texts(Dataset<Row> frame, String directory) {
    frame.javaRDD().map(row -> row.toString()).saveAsTextFile(directory);
  }

  /** Takes hours. */
  public static Dataset<Row> slow(Dataset<Row> frame) {
    frame.foreachPartition((ForeachPartitionFunction<Row>) rows -> {
      for (; rows.hasNext(); rows.next()) {
        Thread.sleep(60_000);
      }
    });
    return frame;
  }

  /** The longest text and how many there were. */
  public static final class Longest extends Aggregator<String, String, String> {
    @Override
    public String zero() {
      return "";
    }

    @Override
    public String reduce(String longest, String text) {
      boolean less = text == null || text.length() < longest.length();
      boolean after = text != null && text.length() == longest.length() && text.compareTo(longest) > 0;
      return less || after ? longest : text;
    }

    @Override
    public String merge(String one, String other) {
      return reduce(one, other);
    }

    @Override
    public String finish(String longest) {
      return longest + "!";
    }

    @Override
    public Encoder<String> bufferEncoder() {
      return Encoders.STRING();
    }

    @Override
    public Encoder<String> outputEncoder() {
      return Encoders.STRING();
    }
  }

  /** Makes `longest` known to SQL. */
  public static void register(SparkSession spark) {
    spark.udf().register("longest", functions.udaf(new Longest(), Encoders.STRING()));
  }

  /** How many rows of each text there have been. */
  public static Dataset<String> remembered(Dataset<Row> stream) {
    FlatMapGroupsWithStateFunction<String, Row, Long, String> count = (key, rows, state) -> {
      long seen = state.exists() ? state.get() : 0;
      for (; rows.hasNext(); rows.next()) {
        seen++;
      }
      state.update(seen);
      return List.of(key + ": " + seen).iterator();
    };
    return stream
        .groupByKey((MapFunction<Row, String>) row -> row.getString(0), Encoders.STRING())
        .flatMapGroupsWithState(
            count, OutputMode.Update(), Encoders.LONG(), Encoders.STRING(), GroupStateTimeout.NoTimeout());
  }
}

package capture;

import java.io.*;
import java.lang.reflect.*;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import org.apache.spark.RangePartitioner;
import org.apache.spark.RangePartitioner$;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.*;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.catalyst.expressions.codegen.LazilyGeneratedOrdering;
import org.apache.spark.sql.execution.joins.HashedRelationBroadcastMode;
import org.apache.spark.sql.types.*;
import org.apache.spark.util.io.ChunkedByteBuffer;
import scala.Tuple2;
import scala.Tuple3;
import scala.reflect.ClassTag;

/** Has Spark write rows, hashes, relations, partitions and results, for the tests of the formats: lines of a name and values, separated by tabs. */
public class Rows {
    private static PrintWriter out;

    /** Every type, with nulls and extremes. */
    private static final String[] COLUMNS = {
        "if(id % 7 = 0, null, id % 3 = 0) as b",
        "if(id % 11 = 0, null, cast(id * 37 % 256 - 128 as tinyint)) as y",
        "if(id % 6 = 0, null, cast(id * 7919 % 65536 - 32768 as smallint)) as s",
        "case id % 13 when 0 then null when 1 then -2147483648 when 2 then 2147483647 else hash(id) end as i",
        "case id % 13 when 0 then null when 1 then bigint('-9223372036854775808') when 2 then 9223372036854775807 else xxhash64(id) end as l",
        "case id % 9 when 0 then null when 1 then float('NaN') when 2 then -float('0') when 3 then float('Infinity') when 4 then float('-Infinity') when 5 then float('1.4E-45') else float(id / 7 - 9) end as f",
        "case id % 9 when 0 then null when 1 then double('NaN') when 2 then -double('0') when 3 then double('Infinity') when 4 then double('-Infinity') when 5 then double('4.9E-324') else double(id) / 7 - 9 end as d",
        "if(id % 5 = 0, null, cast(id * 1.25 - 70 as decimal(7,2))) as n",
        "case id % 5 when 0 then null when 1 then decimal('-999999999999999999') else cast(xxhash64(id) % 1000000 as decimal(18,0)) end as m",
        "case id % 7 when 0 then null when 1 then cast(0 as decimal(20,4)) when 2 then cast(-1 as decimal(20,4)) else cast(xxhash64(id) % 1000000000000 as decimal(20,4)) end as w",
        "case id % 7 when 0 then null when 1 then cast('99999999999999999999999999999999999999' as decimal(38,0)) when 2 then cast('-99999999999999999999999999999999999999' as decimal(38,0)) else cast(id - 60 as decimal(38,0)) * 1000000007 end as x",
        "case id % 9 when 0 then null when 1 then '' when 2 then 'a' when 3 then 'twelve bytes' when 4 then 'thirteen bytes' when 5 then 'Zürich \uD834\uDD1E' when 6 then repeat('long text ', int(id)) else string(id) end as t",
        "case id % 5 when 0 then null when 1 then x'' when 2 then x'ff00fe' else cast(repeat(string(id), int(id % 9)) as binary) end as z",
        "case id % 6 when 0 then null when 1 then date'0001-01-01' when 2 then date'9999-12-31' else date_add(date'1992-01-01', int(id) * 17) end as dt",
        "case id % 6 when 0 then null when 1 then timestamp'0001-01-01 00:00:00' else timestamp_micros(xxhash64(id) % 10000000000000) end as ts",
        "if(id % 6 = 0, null, cast(timestamp_micros(xxhash64(id) % 10000000000000) as timestamp_ntz)) as tn",
        "if(id % 6 = 0, null, make_ym_interval(int(id) - 50, int(id) % 12)) as ym",
        "if(id % 6 = 0, null, make_dt_interval(int(id) - 50, int(id) % 24, 0, 0.000001)) as dy",
        "if(id % 8 = 0, null, named_struct('a', if(id % 3 = 0, null, int(id)), 'b', if(id % 4 = 1, null, repeat('x', int(id % 20))), 'c', if(id % 5 = 2, null, cast(id as decimal(38,2))), 'e', named_struct('g', if(id % 6 = 1, null, string(id))))) as st",
        "null as nu",
        "id",
    };

    /** Arrays, maps and structs of every kind, with nulls, empty ones and long ones. */
    private static final String[] NESTED = {
        "if(id % 7 = 0, null, transform(sequence(1, int(id % 11)), x -> if(x % 4 = 3, null, x % 3 = 0))) as b",
        "if(id % 5 = 1, null, transform(sequence(1, int(id % 13)), x -> if(x % 5 = 3, null, cast(x * 37 % 256 - 128 as tinyint)))) as y",
        "if(id % 5 = 2, null, transform(sequence(1, int(id % 13)), x -> if(x % 5 = 3, null, cast(x * 7919 % 65536 - 32768 as smallint)))) as s",
        "if(id % 5 = 3, null, slice(transform(sequence(1, int(id) + 1), x -> if(x % 6 = 3, null, hash(x, id))), 1, int(id % 70))) as i",
        "if(id % 5 = 4, null, slice(transform(sequence(1, int(id) + 1), x -> if(x % 6 = 3, null, xxhash64(x, id))), 1, int(id % 9))) as l",
        "if(id % 5 = 0, null, slice(array(float('NaN'), -float('0'), float('0'), null, float('Infinity'), float(id) / 7), 1, int(id % 7))) as f",
        "if(id % 5 = 0, null, slice(array(double('NaN'), -double('0'), double('0'), null, double('-Infinity'), double(id) / 7), 1, int(id % 7))) as d",
        "if(id % 6 = 0, null, slice(array(cast(id * 1.25 - 70 as decimal(7,2)), null, cast(-1 as decimal(7,2))), 1, int(id % 4))) as n",
        "if(id % 6 = 0, null, slice(array(cast(0 as decimal(38,2)), null, cast('-999999999999999999999999999999999999.99' as decimal(38,2)), cast(id as decimal(38,2)), cast(xxhash64(id) as decimal(38,2))), 1, int(id % 6))) as w",
        "if(id % 6 = 0, null, slice(array('', null, 'a', 'twelve bytes', 'thirteen bytes', repeat('long text ', int(id % 30))), 1, int(id % 7))) as t",
        "if(id % 6 = 0, null, slice(array(x'', null, x'ff00fe', cast(repeat(string(id), int(id % 9)) as binary)), 1, int(id % 5))) as z",
        "if(id % 6 = 0, null, slice(array(date'0001-01-01', null, date_add(date'1992-01-01', int(id) * 17)), 1, int(id % 4))) as dt",
        "if(id % 6 = 0, null, slice(array(timestamp'0001-01-01 00:00:00', null, timestamp_micros(xxhash64(id) % 10000000000000)), 1, int(id % 4))) as ts",
        "if(id % 6 = 0, null, slice(array(make_ym_interval(int(id) - 50, 1), null), 1, int(id % 3))) as ym",
        "if(id % 6 = 0, null, slice(array(make_dt_interval(int(id) - 50, 1), null), 1, int(id % 3))) as dy",
        "if(id % 9 = 0, null, slice(array(null, null, null), 1, int(id % 4))) as nu",
        "if(id % 8 = 0, null, slice(array(array(int(id), null), null, array(), sequence(1, int(id % 40))), 1, int(id % 5))) as aa",
        "if(id % 8 = 0, null, slice(array(named_struct('a', int(id), 'b', if(id % 3 = 0, null, repeat('x', int(id % 20))), 'c', cast(id as decimal(38,2)), 'd', array(id, null)), null, named_struct('a', cast(null as int), 'b', 'y', 'c', cast(null as decimal(38,2)), 'd', cast(null as array<bigint>))), 1, int(id % 4))) as st",
        "if(id % 8 = 1, null, slice(array(map('k', 1, string(id), null), null, cast(map() as map<string,int>)), 1, int(id % 4))) as am",
        "case id % 9 when 0 then null when 1 then cast(map() as map<int,string>) when 2 then map(1, 'one', 2, null, 3, repeat('x', int(id))) else map(int(id), string(id)) end as m",
        "case id % 7 when 0 then null else map(string(id), array(cast(id as decimal(30,3)), null), 'other', null) end as ma",
        "case id % 7 when 0 then null else map(named_struct('k', id), map(int(id), if(id % 2 = 0, null, named_struct('v', string(id))))) end as mm",
        "if(id % 8 = 0, null, named_struct('a', if(id % 3 = 0, null, array(int(id), null)), 'b', if(id % 4 = 1, null, map(id, repeat('x', int(id % 20)))), 'c', cast(id as tinyint))) as sa",
        "id",
    };

    public static void main(String[] args) throws Exception {
        out = new PrintWriter(new OutputStreamWriter(new FileOutputStream(args[0]), StandardCharsets.UTF_8));
        SparkSession spark = SparkSession.builder().master("local[2]").config("spark.ui.enabled", "false")
            .config("spark.sql.ansi.enabled", "false").config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.adaptive.enabled", "false").getOrCreate();
        Dataset<Row> table = spark.range(0, 160, 1, 3).selectExpr(COLUMNS).cache();
        table.count();

        for (StructField field : table.schema().fields()) line("type", field.name(), field.dataType().catalogString());
        for (byte[] row : rows(table)) line("row", hex(row));
        for (StructField field : table.schema().fields()) {
            if (!field.name().equals("nu")) hashes(table, field.name());
        }
        hashes(table, String.join(",", table.columns()));
        Dataset<Row> nested = spark.range(0, 160, 1, 3).selectExpr(NESTED).cache();
        nested.count();
        for (StructField field : nested.schema().fields()) line("nested-type", field.name(), field.dataType().catalogString());
        for (byte[] row : rows(nested)) line("nested-row", hex(row));
        for (StructField field : nested.schema().fields()) {
            // Spark hashes no maps.
            if (!field.dataType().catalogString().contains("map<")) hashes("nested-hash", nested, field.name());
        }
        checksums(rows(table));
        relations(table);
        ranges(table, "d", true, true);
        ranges(table, "t", false, false);
        ranges(table, "x", true, false);
        ranges(table, "i", false, true);
        sample(table);
        // With and without being sorted before.
        for (String sorted : new String[] {"true", "false"}) {
            spark.conf().set("spark.sql.execution.sortBeforeRepartition", sorted);
            for (int partitions : new int[] {3, 4, 7}) {
                List<Row> sent = table.selectExpr("spark_partition_id() as p", "id", "t").repartition(partitions)
                    .selectExpr("spark_partition_id()", "p", "id").collectAsList();
                for (Row row : sent) line("robin", sorted, partitions, row.get(0), row.get(1), row.get(2));
            }
        }
        results(table);
        out.close();
        spark.stop();
    }

    private static void line(Object... values) {
        StringJoiner text = new StringJoiner("\t");
        for (Object value : values) text.add(String.valueOf(value));
        out.println(text);
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte b : bytes) text.append(String.format("%02x", b));
        return text.toString();
    }

    private static byte[] bytes(InternalRow row) { return ((UnsafeRow) row).getBytes(); }

    /** As projections write rows: those of a cached table are laid out in another way. */
    private static List<byte[]> rows(Dataset<Row> table) {
        List<byte[]> rows = new ArrayList<>();
        UnsafeProjection projection = UnsafeProjection.create(table.schema());
        for (InternalRow row : table.queryExecution().toRdd().toJavaRDD().map(InternalRow::copy).collect())
            rows.add(bytes(projection.apply(row).copy()));
        return rows;
    }

    private static void hashes(Dataset<Row> table, String columns) { hashes("hash", table, columns); }

    private static void hashes(String name, Dataset<Row> table, String columns) {
        StringJoiner all = new StringJoiner(",");
        for (Row row : table.selectExpr("hash(" + columns + ")").collectAsList()) all.add(String.valueOf(row.get(0)));
        line(name, columns, all);
    }

    /** As a map task of three reduce partitions has them, the last one empty. Releases before 4.1 have none. */
    private static void checksums(List<byte[]> rows) throws Exception {
        Class<?> of;
        try { of = Class.forName("org.apache.spark.sql.catalyst.expressions.UnsafeRowChecksum"); }
        catch (ClassNotFoundException none) { return; }
        Class<?> base = Class.forName("org.apache.spark.shuffle.checksum.RowBasedChecksum");
        Object all = Array.newInstance(base, 3);
        for (int i = 0; i < 3; i++) Array.set(all, i, of.getConstructor().newInstance());
        for (int i = 0; i < rows.size(); i++) {
            UnsafeRow row = new UnsafeRow(COLUMNS.length);
            row.pointTo(rows.get(i), rows.get(i).length);
            base.getMethod("update", Object.class, Object.class).invoke(Array.get(all, i % 2), i, row);
        }
        line("checksum", base.getMethod("getAggregatedChecksumValue", all.getClass()).invoke(null, all));
    }

    private static byte[] serialized(Object value) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream stream = new ObjectOutputStream(bytes)) { stream.writeObject(value); }
        return bytes.toByteArray();
    }

    private static <T> scala.collection.immutable.List<T> list(List<T> values) {
        return scala.collection.JavaConverters.asScalaBufferConverter(values).asScala().toList();
    }

    private static void relations(Dataset<Row> table) throws Exception {
        relation(table, "dense", "id", LongType$.MODULE$, false, "id < 40");
        relation(table, "sparse", "l", LongType$.MODULE$, false, "id < 60");
        relation(table, "duplicates", "id % 9", LongType$.MODULE$, false, "id < 60");
        relation(table, "text", "t", StringType$.MODULE$, false, "id < 60");
        relation(table, "empty", "id", LongType$.MODULE$, false, "id < 0");
        relation(table, "nulls", "l", LongType$.MODULE$, true, "id < 60");
        Dataset<Row> some = table.where("id < 20").selectExpr("id", "t", "w");
        line("relation", "rows", hex(serialized(internal(some))));
        line("relation", "norows", hex(serialized(new InternalRow[0])));
    }

    private static InternalRow[] internal(Dataset<Row> table) {
        List<byte[]> all = rows(table);
        InternalRow[] found = new InternalRow[all.size()];
        for (int i = 0; i < found.length; i++) {
            UnsafeRow row = new UnsafeRow(table.columns().length);
            row.pointTo(all.get(i), all.get(i).length);
            found[i] = row;
        }
        return found;
    }

    private static void relation(Dataset<Row> table, String name, String key, DataType type, boolean nullAware, String where)
            throws Exception {
        Dataset<Row> some = table.where(where).selectExpr(key + " as k", "t", "w");
        List<Expression> keys = List.of(new BoundReference(0, type, true));
        Object relation = new HashedRelationBroadcastMode(list(keys), nullAware).transform(internal(some));
        line("relation", name, hex(serialized(relation)));
        for (byte[] row : rows(some)) line("relation-row", name, hex(row));
    }

    private static void ranges(Dataset<Row> table, String column, boolean ascending, boolean nullsFirst) throws Exception {
        Dataset<Row> keys = table.select(column);
        SortDirection direction = ascending ? Ascending$.MODULE$ : Descending$.MODULE$;
        NullOrdering nulls = nullsFirst ? NullsFirst$.MODULE$ : NullsLast$.MODULE$;
        Expression key = new BoundReference(0, keys.schema().fields()[0].dataType(), true);
        List<Expression> none = List.of();
        List<SortOrder> order = List.of(new SortOrder(key, direction, nulls, list(none)));
        LazilyGeneratedOrdering ordering = new LazilyGeneratedOrdering(list(order));
        ClassTag<InternalRow> tag = scala.reflect.ClassTag$.MODULE$.apply(InternalRow.class);
        RDD<InternalRow> rdd = keys.queryExecution().toRdd().toJavaRDD().map(InternalRow::copy).rdd();
        RDD<Tuple2<InternalRow, Object>> pairs = new org.apache.spark.api.java.JavaRDD<>(rdd, tag)
            .map(row -> new Tuple2<>(row, (Object) null)).rdd();
        RangePartitioner<InternalRow, Object> partitioner =
            new RangePartitioner<InternalRow, Object>(7, (RDD) pairs, true, 20, ordering, tag);
        Field field = RangePartitioner.class.getDeclaredField("rangeBounds");
        field.setAccessible(true);
        StringJoiner bounds = new StringJoiner(",");
        for (Object bound : (Object[]) field.get(partitioner)) bounds.add(hex(bytes((InternalRow) bound)));
        StringJoiner ids = new StringJoiner(",");
        for (InternalRow row : internal(keys)) ids.add(String.valueOf(partitioner.getPartition(row)));
        line("range", column, ascending, nullsFirst, bounds, ids);
    }

    private static void sample(Dataset<Row> table) throws Exception {
        ClassTag<InternalRow> tag = scala.reflect.ClassTag$.MODULE$.apply(InternalRow.class);
        Dataset<Row> keys = table.select("id", "t");
        for (int size : new int[] {5, 20, 1000}) {
            RDD<InternalRow> rdd = keys.queryExecution().toRdd().toJavaRDD().map(InternalRow::copy).rdd();
            Tuple3[] sketched = RangePartitioner$.MODULE$.sketch(rdd, size, tag)._2();
            for (Tuple3 one : sketched) {
                // A result as the task of this partition sends it.
                InternalRow[] kept = new InternalRow[((Object[]) one._3()).length];
                System.arraycopy(one._3(), 0, kept, 0, kept.length);
                Tuple3[] result = {new Tuple3<>(one._1(), one._2(), kept)};
                line("sample", size, rdd.id(), one._1(), hex(serialized(result)));
            }
        }
        // The partitions that the rows are in.
        for (Row row : keys.selectExpr("spark_partition_id()", "id").collectAsList()) line("partition", row.get(0), row.get(1));
    }

    private static void results(Dataset<Row> table) throws Exception {
        byte[] large = new byte[2500];
        for (int i = 0; i < large.length; i++) large[i] = (byte) (i * 7);
        ChunkedByteBuffer buffer = new ChunkedByteBuffer(new ByteBuffer[] {ByteBuffer.wrap(large)});
        Tuple2<Object, Object> pair = new Tuple2<>(5L, buffer);
        line("result", "pair", hex(serialized(pair)));
        line("result", "array", hex(serialized(new Tuple2[] {pair})));
        InternalRow[] rows = internal(table.where("id < 9").select("id", "t"));
        line("result", "some", hex(serialized(new scala.Some<>(rows))));
        line("result", "none", hex(serialized(scala.None$.MODULE$)));
        line("result", "empty", hex(serialized(new scala.Some<>(new InternalRow[0]))));
    }
}

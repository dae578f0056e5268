package org.firesteel.bridge;

import java.io.ByteArrayInputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.NoSuchElementException;
import java.util.function.LongSupplier;
import org.apache.spark.Partition;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.rdd.RDD;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.JavaSerializerInstance;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.SafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.CoGroupedIterator;
import org.apache.spark.sql.execution.GroupedIterator;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Function2;
import scala.Function3;
import scala.Option;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterable;
import scala.collection.Iterator;
import scala.collection.Seq;
import scala.collection.immutable.List;
import scala.collection.immutable.Nil$;
import scala.reflect.ClassTag$;

/**
 * Operators on objects of one partition, from rows to rows. Functions, expressions and what evaluates them are Spark's;
 * here is what the {@code doExecute} of Spark's operators does with them. The other side is {@code objects.rs} of the
 * crate {@code catalyst}.
 */
final class ObjectOperators {
  /** Rows, bytes and nanoseconds after which what is made is given. */
  private static final int MOST_ROWS = 8192;

  private static final int ENOUGH = 1 << 20;
  private static final long PATIENCE = 50_000_000;
  private static final byte MADE = 1;
  private static final byte LAST = 2;

  /** Operators that are leaves. */
  private static final byte SCAN = 9;

  private static final byte OBJECTS = 10;

  private final TaskContext context;
  private final GivenRows.Source source;
  private final ArrayList<LongSupplier> counts = new ArrayList<>();
  private Iterator<UnsafeRow> rows;
  private boolean ended;
  private StructType schema;
  private Partition partition;

  private ObjectOperators(TaskContext context, GivenRows.Source source) {
    this.context = context;
    this.source = source;
  }

  /**
   * Number of operators, a byte for each; number of inputs, of each its {@link Binding}; if the first operator is a
   * leaf, the types of its rows and its partition, each behind its length; the operators' parts.
   */
  static ObjectOperators read(ByteBuffer in, TaskContext context, GivenRows.Source source) {
    byte[] chain = new byte[in.getInt()];
    in.get(chain);
    Binding[] inputs = new Binding[in.getInt()];
    for (int input = 0; input < inputs.length; input++) {
      inputs[input] = Binding.read(in);
    }
    ObjectOperators operators = new ObjectOperators(context, source);
    if (chain.length > 0 && (chain[0] == SCAN || chain[0] == OBJECTS)) {
      byte[] schema = new byte[in.getInt()];
      in.get(schema);
      operators.schema = (StructType) DataType.fromJson(new String(schema, StandardCharsets.UTF_8));
      int length = in.getInt();
      operators.partition = (Partition) next(stream(in, length));
      in.position(in.position() + length);
    }
    operators.build(chain, inputs, stream(in, in.remaining()));
    return operators;
  }

  private static DeserializationStream stream(ByteBuffer in, int length) {
    JavaSerializerInstance serializer = (JavaSerializerInstance) SparkEnv.get().closureSerializer().newInstance();
    ByteArrayInputStream bytes =
        new ByteArrayInputStream(in.array(), in.arrayOffset() + in.position(), length);
    return serializer.deserializeStream(bytes, Thread.currentThread().getContextClassLoader());
  }

  /** Whether nothing more will be made. */
  boolean ended() {
    return ended;
  }

  /** What is made next: whether it is the last; of each filter what it has let pass, or of a scan its batches; rows. */
  Rows make() {
    int header = 1 + 4 + 8 * counts.size();
    Rows made = new Rows(1 << 16);
    made.skip(header);
    long start = System.nanoTime();
    for (int row = 0; row < MOST_ROWS && made.size() < ENOUGH; row++) {
      context.killTaskIfInterrupted();
      // Slow functions are seen soon, fast ones are not slowed down by it.
      boolean look = row > 0 && (row < 64 || row % 64 == 0);
      if (look && System.nanoTime() - start > PATIENCE) {
        break;
      }
      if (!rows.hasNext()) {
        ended = true;
        break;
      }
      made.add(rows.next());
    }
    ByteBuffer out = ByteBuffer.wrap(made.array(), 0, header);
    out.put(ended ? LAST : MADE).putInt(counts.size());
    for (LongSupplier count : counts) {
      out.putLong(count.getAsLong());
    }
    return made;
  }

  private void build(byte[] chain, Binding[] inputs, DeserializationStream parts) {
    Iterator<Object> objects = null;
    for (byte operator : chain) {
      // As the operators are numbered there.
      switch (operator) {
        case 0:
          objects = new Mapped<>(input(0, inputs), deserializer(inputs[0], next(parts)));
          break;
        case 1:
          objects = new Mapped<>(objects, function(next(parts)));
          break;
        case 2:
          objects = Reflect.<Function1<Iterator<Object>, Iterator<Object>>>cast(next(parts)).apply(objects);
          break;
        case 3:
          Filtered filtered = new Filtered(objects, predicate(next(parts)));
          counts.add(filtered::passed);
          objects = filtered;
          break;
        case 4:
          rows = new Mapped<>(objects, serializer(expressions(next(parts))));
          break;
        case 5:
          Mapping<Object, Object> key = function(next(parts));
          Mapping<InternalRow, Object> row = deserializer(inputs[0], next(parts));
          Mapping<Object, UnsafeRow> columns = serializer(expressions(next(parts)));
          rows = new Mapped<>(input(0, inputs), in -> columns.apply(key.apply(row.apply(in))));
          break;
        case 6:
          rows = withColumns(objects, parts);
          break;
        case 7:
          objects = groups(inputs, parts);
          break;
        case 8:
          objects = cogroups(inputs, parts);
          break;
        case SCAN:
          ScannedRows scanned = new ScannedRows(scanned(next(parts)), schema);
          counts.add(scanned::batches);
          rows = scanned;
          break;
        case OBJECTS:
          objects = new Mapped<>(scanned(next(parts)), element -> ((InternalRow) element).get(0, null));
          break;
        default:
          throw new IllegalArgumentException("an unknown operator: " + operator);
      }
    }
  }

  /** What the partition of an RDD has. */
  private Iterator<Object> scanned(Object rdd) {
    return Reflect.<RDD<Object>>cast(rdd).iterator(partition, context);
  }

  /** A row of each object, and of what a function makes of it. */
  private static Iterator<UnsafeRow> withColumns(Iterator<Object> objects, DeserializationStream parts) {
    Mapping<Object, Object> function = function(next(parts));
    List<Expression> own = expressions(next(parts));
    List<Expression> added = expressions(next(parts));
    Mapping<Object, UnsafeRow> first = serializer(own);
    Mapping<Object, UnsafeRow> second = serializer(added);
    UnsafeRowPair pair = new UnsafeRowPair(own, added);
    return new Mapped<>(objects, object -> pair.join(first.apply(object), second.apply(function.apply(object))));
  }

  private Iterator<Object> groups(Binding[] inputs, DeserializationStream parts) {
    Function2<Object, Iterator<Object>, Object> function = Reflect.cast(next(parts));
    Object keyDeserializer = next(parts);
    Object valueDeserializer = next(parts);
    Seq<Attribute> keys = Reflect.cast(next(parts));
    Seq<Attribute> values = Reflect.cast(next(parts));
    Mapping<InternalRow, Object> key = deserializer(attributes(keys), keyDeserializer);
    Mapping<InternalRow, Object> value = deserializer(inputs[0], valueDeserializer);
    Iterator<Tuple2<InternalRow, Iterator<InternalRow>>> groups = grouped(0, inputs, keys, values);
    return new Flattened<>(
        groups, group -> function.apply(key.apply(group._1()), new Mapped<>(group._2(), value)));
  }

  private Iterator<Object> cogroups(Binding[] inputs, DeserializationStream parts) {
    Function3<Object, Iterator<Object>, Iterator<Object>, Object> function = Reflect.cast(next(parts));
    Object keyDeserializer = next(parts);
    Mapping<InternalRow, Object> left = deserializer(inputs[0], next(parts));
    Mapping<InternalRow, Object> right = deserializer(inputs[1], next(parts));
    Seq<Attribute> leftKeys = Reflect.cast(next(parts));
    Seq<Attribute> rightKeys = Reflect.cast(next(parts));
    Seq<Attribute> leftValues = Reflect.cast(next(parts));
    Seq<Attribute> rightValues = Reflect.cast(next(parts));
    Mapping<InternalRow, Object> key = deserializer(attributes(leftKeys), keyDeserializer);
    CoGroupedIterator groups = new CoGroupedIterator(
        grouped(0, inputs, leftKeys, leftValues), grouped(1, inputs, rightKeys, rightValues), attributes(leftKeys));
    return new Flattened<>(groups, group -> function.apply(
        key.apply(group._1()), new Mapped<>(group._2(), left), new Mapped<>(group._3(), right)));
  }

  /** The rows of an input by keys, by which they are sorted. */
  private Iterator<Tuple2<InternalRow, Iterator<InternalRow>>> grouped(
      int input, Binding[] inputs, Seq<Attribute> keys, Seq<Attribute> values) {
    Attribute[] columns = new Attribute[inputs[input].columns()];
    for (List<Attribute> all = attributes(keys).$colon$colon$colon(attributes(values)); all.nonEmpty(); ) {
      Attribute column = all.head();
      columns[inputs[input].place(column)] = column;
      all = Reflect.cast(all.tail());
    }
    List<Attribute> schema = nothing();
    for (int place = columns.length - 1; place >= 0; place--) {
      schema = schema.$colon$colon(columns[place]);
    }
    return GroupedIterator.apply(input(input, inputs), expressions(keys), schema);
  }

  private Iterator<InternalRow> input(int place, Binding[] inputs) {
    return new GivenRows(source, place, inputs[place].columns());
  }

  private static Object next(DeserializationStream parts) {
    return parts.readObject(ClassTag$.MODULE$.Any());
  }

  private static Mapping<Object, Object> function(Object function) {
    if (function instanceof MapFunction) {
      MapFunction<Object, Object> ofJava = Reflect.cast(function);
      return ofJava::call;
    }
    Function1<Object, Object> ofScala = Reflect.cast(function);
    return ofScala::apply;
  }

  /** An object of each row with the columns of a binding. */
  private static Mapping<InternalRow, Object> deserializer(Binding columns, Object expression) {
    Expression bound = columns.of((Expression) expression);
    return first(SafeProjection.create(ObjectOperators.<Expression>nothing().$colon$colon(bound)), bound.dataType());
  }

  /** An object of each row with these columns. */
  private static Mapping<InternalRow, Object> deserializer(List<Attribute> columns, Object expression) {
    Expression unbound = (Expression) expression;
    List<Expression> only = ObjectOperators.<Expression>nothing().$colon$colon(unbound);
    return first(SafeProjection.create(only, columns), unbound.dataType());
  }

  private static Mapping<InternalRow, Object> first(Function1<InternalRow, InternalRow> projection, DataType type) {
    return row -> projection.apply(row).get(0, type);
  }

  /** A row of each object. */
  private static Mapping<Object, UnsafeRow> serializer(List<Expression> expressions) {
    UnsafeProjection projection = UnsafeProjection.create(expressions);
    projection.initialize(TaskContext.getPartitionId());
    ObjectRow row = new ObjectRow();
    return object -> projection.apply(row.of(object));
  }

  private static Mapping<Object, Boolean> predicate(Object condition) {
    Expression bound = ((Expression) condition).transform(new ObjectRow.Binding());
    BasePredicate predicate = Predicate$.MODULE$.create(bound);
    predicate.initialize(TaskContext.getPartitionId());
    ObjectRow row = new ObjectRow();
    return object -> predicate.eval(row.of(object));
  }

  /** As a list, which both versions of Scala take for a sequence. */
  private static List<Expression> expressions(Object sequence) {
    List<Expression> all = nothing();
    for (Iterator<Expression> each = Reflect.<Seq<Expression>>cast(sequence).reverseIterator(); each.hasNext(); ) {
      all = all.$colon$colon(each.next());
    }
    return all;
  }

  private static List<Attribute> attributes(Seq<Attribute> sequence) {
    return Reflect.cast(expressions(sequence));
  }

  private static <T> List<T> nothing() {
    return Reflect.cast(Nil$.MODULE$);
  }

  /** What a function gives that may give any collection. Java has no name for those of both versions of Scala. */
  private static Iterator<Object> elements(Object collection) {
    if (collection instanceof Iterator) {
      return Reflect.cast(collection);
    }
    if (collection instanceof Iterable) {
      return Reflect.<Iterable<Object>>cast(collection).iterator();
    }
    if (collection instanceof Option) {
      return Reflect.<Option<Object>>cast(collection).iterator();
    }
    throw new IllegalStateException("a function gives a " + collection.getClass().getName());
  }

  /** A function that may throw anything, as those of users may. */
  private interface Mapping<A, B> {
    B apply(A a) throws Exception;
  }

  private static RuntimeException thrown(Exception e) {
    return ObjectOperators.<RuntimeException>uncheckedly(e);
  }

  @SuppressWarnings("unchecked")
  private static <E extends Exception> RuntimeException uncheckedly(Exception e) throws E {
    throw (E) e;
  }

  /** What a function makes of each. */
  private static final class Mapped<A, B> extends AbstractIterator<B> {
    private final Iterator<? extends A> all;
    private final Mapping<A, B> mapping;

    Mapped(Iterator<? extends A> all, Mapping<A, B> mapping) {
      this.all = all;
      this.mapping = mapping;
    }

    @Override
    public boolean hasNext() {
      return all.hasNext();
    }

    @Override
    public B next() {
      try {
        return mapping.apply(all.next());
      } catch (Exception e) {
        throw thrown(e);
      }
    }
  }

  /** All that a function makes of each group. */
  private static final class Flattened<A> extends AbstractIterator<Object> {
    private final Iterator<A> groups;
    private final Mapping<A, Object> mapping;
    private Iterator<Object> current;

    Flattened(Iterator<A> groups, Mapping<A, Object> mapping) {
      this.groups = groups;
      this.mapping = mapping;
    }

    @Override
    public boolean hasNext() {
      while (current == null || !current.hasNext()) {
        current = null;
        if (!groups.hasNext()) {
          return false;
        }
        try {
          current = elements(mapping.apply(groups.next()));
        } catch (Exception e) {
          throw thrown(e);
        }
      }
      return true;
    }

    @Override
    public Object next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return current.next();
    }
  }

  /** The objects of which a condition is true. */
  private static final class Filtered extends AbstractIterator<Object> {
    private final Iterator<Object> all;
    private final Mapping<Object, Boolean> condition;
    private Object found;
    private boolean ready;
    private long passed;

    Filtered(Iterator<Object> all, Mapping<Object, Boolean> condition) {
      this.all = all;
      this.condition = condition;
    }

    @Override
    public boolean hasNext() {
      while (!ready && all.hasNext()) {
        found = all.next();
        try {
          ready = condition.apply(found);
        } catch (Exception e) {
          throw thrown(e);
        }
      }
      return ready;
    }

    @Override
    public Object next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      ready = false;
      passed++;
      return found;
    }

    /** How many it has let pass since this was asked last. */
    long passed() {
      long found = passed;
      passed = 0;
      return found;
    }
  }
}

package org.firesteel;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.SparkException;
import org.apache.spark.SparkFiles;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;

/**
 * One signature of a function of a shared library. Executors of Firesteel know this class and call the library with
 * columns; elsewhere it calls the library itself, row by row. Its fields are read by {@code native.rs} of the crate
 * {@code catalyst}.
 */
final class NativeScalar implements ScalarFunction<Object> {
  private static final long serialVersionUID = 1L;

  private final String library;
  private final String module;
  private final String version;
  private final String function;
  private final int signature;
  private final DataType[] arguments;
  private final DataType result;
  private final boolean deterministic;
  /** Of the session that the query was analysed in. */
  private final String timeZone;
  private final boolean ansi;

  /** What is bound for the last task that called it. */
  private transient BoundFunction bound;

  NativeScalar(
      String library,
      String module,
      String version,
      String function,
      int signature,
      DataType[] arguments,
      DataType result,
      boolean deterministic,
      String timeZone,
      boolean ansi) {
    this.library = library;
    this.module = module;
    this.version = version;
    this.function = function;
    this.signature = signature;
    this.arguments = arguments;
    this.result = result;
    this.deterministic = deterministic;
    this.timeZone = timeZone;
    this.ansi = ansi;
  }

  /** The same for a query that is analysed now. */
  NativeScalar inSession() {
    SQLConf session = SQLConf.get();
    return new NativeScalar(
        library, module, version, function, signature, arguments, result, deterministic,
        session.sessionLocalTimeZone(), session.ansiEnabled());
  }

  @Override
  public String name() {
    return function;
  }

  @Override
  public String canonicalName() {
    return "org.firesteel." + library + "." + module + "." + version + "." + function + "." + signature;
  }

  @Override
  public DataType[] inputTypes() {
    return arguments;
  }

  @Override
  public DataType resultType() {
    return result;
  }

  @Override
  public boolean isDeterministic() {
    return deterministic;
  }

  @Override
  public synchronized Object produceResult(InternalRow row) {
    TaskContext context = TaskContext.get();
    try {
      if (bound == null || !bound.isOf(context)) {
        bound = bind(context);
        if (context == null) {
          // On the driver, for a constant or the rows of a local relation.
          DriverFunctions.closeWith(this, bound);
        } else {
          context.addTaskCompletionListener(bound);
        }
      }
      return bound.call(row);
    } catch (RuntimeException e) {
      throw Throw.unchecked(failed(e));
    }
  }

  private BoundFunction bind(TaskContext context) {
    String[] texts = {place(), module, version, function, timeZone};
    long mode = ansi ? 1 : 0;
    long[] numbers = context == null
        ? new long[] {signature, mode, -1, -1, -1, -1}
        : new long[] {
          signature, mode, context.stageId(), context.partitionId(), context.attemptNumber(), context.taskAttemptId()
        };
    return new BoundFunction(texts, numbers, context, arguments, result);
  }

  /** The library's file on this machine. */
  private String place() {
    for (String named : SparkEnv.get().conf().get(NativeFunctions.LIBRARIES, "").split(",")) {
      File file = new File(named.trim());
      if (file.isAbsolute() && file.getName().equals(library)) {
        return existing(file);
      }
    }
    return existing(new File(SparkFiles.get(library)));
  }

  private String existing(File file) {
    if (file.isFile()) {
      return file.getAbsolutePath();
    }
    throw new IllegalStateException("the library " + library + " is not on this machine, at " + file
        + ": send it with the job (--files, spark.files), or name where it is on all machines in "
        + NativeFunctions.LIBRARIES);
  }

  /** As Spark says that a user's function failed. */
  private SparkException failed(RuntimeException error) {
    List<String> types = new ArrayList<>();
    for (DataType type : arguments) {
      types.add(type.sql());
    }
    String title = function + " of " + library + " (" + module + " " + version + ")";
    return new SparkException(
        "FAILED_EXECUTE_UDF",
        Overloads.map(
            "functionName", Overloads.quoted(title),
            "signature", String.join(", ", types),
            "result", result.sql(),
            "reason", String.valueOf(error.getMessage())),
        error);
  }

  /** Expressions are the same if their functions are. */
  @Override
  public boolean equals(Object that) {
    if (!(that instanceof NativeScalar)) {
      return false;
    }
    NativeScalar other = (NativeScalar) that;
    return other.canonicalName().equals(canonicalName()) && other.timeZone.equals(timeZone) && other.ansi == ansi;
  }

  @Override
  public int hashCode() {
    return canonicalName().hashCode();
  }

  @Override
  public String toString() {
    return library + " " + version;
  }
}

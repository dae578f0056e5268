package org.firesteel;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.types.DataType;
import scala.collection.JavaConverters;
import scala.collection.Seq;
import scala.collection.immutable.Map;
import scala.runtime.AbstractFunction1;

/**
 * Makes calls of a function: of its first signature that takes the arguments, as they are or widened. Spark puts in the
 * casts.
 */
final class Overloads extends AbstractFunction1<Seq<Expression>, Expression> {
  private static final String[] ORDINALS = {"first", "second", "third"};

  private final String name;
  private final List<NativeScalar> overloads;

  Overloads(String name, List<NativeScalar> overloads) {
    this.name = name;
    this.overloads = overloads;
  }

  @Override
  public Expression apply(Seq<Expression> children) {
    List<Expression> arguments = new ArrayList<>(JavaConverters.seqAsJavaList(children));
    for (Expression argument : arguments) {
      if (argument.getClass().getSimpleName().equals("NamedArgumentExpression")) {
        Map<String, String> parameters = map("functionName", quoted(name));
        throw Throw.unchecked(new AnalysisException("NAMED_PARAMETERS_NOT_SUPPORTED", parameters));
      }
    }
    for (NativeScalar function : overloads) {
      if (taken(arguments, function) == arguments.size()) {
        return call(function, children);
      }
    }
    throw Throw.unchecked(refused(arguments));
  }

  /** The type of sequences in the constructor is another in Scala 2.13. */
  private Expression call(NativeScalar function, Seq<Expression> children) {
    try {
      Object made = ApplyFunctionExpression.class.getConstructors()[0].newInstance(function.inSession(), children);
      Expression call = (Expression) made;
      // FunctionRegistry.FUNC_ALIAS: columns are named by it.
      call.setTagValue(new TreeNodeTag<>("functionAliasName"), name);
      return call;
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this Spark version is not supported: " + e.getMessage(), e);
    }
  }

  /** How many arguments are taken before the first that is not; -1 if the function takes other many. */
  private static int taken(List<Expression> arguments, NativeScalar function) {
    DataType[] wanted = function.inputTypes();
    if (arguments.size() != wanted.length) {
      return -1;
    }
    int taken = 0;
    while (taken < wanted.length && Types.takes(arguments.get(taken).dataType(), wanted[taken])) {
      taken++;
    }
    return taken;
  }

  /** As Spark says it of its own functions. */
  private AnalysisException refused(List<Expression> arguments) {
    int most = -1;
    Set<String> counts = new LinkedHashSet<>();
    for (NativeScalar function : overloads) {
      most = Math.max(most, taken(arguments, function));
      counts.add(Integer.toString(function.inputTypes().length));
    }
    if (most < 0) {
      String expected = String.join(", ", counts);
      return new AnalysisException(
          "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
          map(
              "functionName", quoted(name),
              "expectedNum", counts.size() == 1 ? expected : "[" + expected + "]",
              "actualNum", Integer.toString(arguments.size()),
              "docroot", "https://spark.apache.org/docs/latest"));
    }
    Set<String> wanted = new LinkedHashSet<>();
    for (NativeScalar function : overloads) {
      if (taken(arguments, function) == most) {
        wanted.add(Types.quoted(function.inputTypes()[most]));
      }
    }
    List<String> texts = new ArrayList<>();
    for (Expression argument : arguments) {
      texts.add(argument.sql());
    }
    Expression given = arguments.get(most);
    return new AnalysisException(
        "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
        map(
            "sqlExpr", "\"" + name + "(" + String.join(", ", texts) + ")\"",
            "paramIndex", ordinal(most),
            "requiredType", String.join(" or ", wanted),
            "inputSql", "\"" + given.sql() + "\"",
            "inputType", Types.quoted(given.dataType())));
  }

  static String quoted(String name) {
    return "`" + name + "`";
  }

  /** As texts of errors have it, which is a number before Spark 4. */
  private static String ordinal(int place) {
    if (SparkContext.getOrCreate().version().startsWith("3.")) {
      return Integer.toString(place + 1);
    }
    return place < ORDINALS.length ? ORDINALS[place] : place + 1 + "th";
  }

  /** Keys and values. What adds to a map has another type in Scala 2.13. */
  @SuppressWarnings("unchecked")
  static Map<String, String> map(String... pairs) {
    try {
      Method updated = Map.class.getMethod("updated", Object.class, Object.class);
      Object map = new Map.Map1<>(pairs[0], pairs[1]);
      for (int i = 2; i < pairs.length; i += 2) {
        map = updated.invoke(map, pairs[i], pairs[i + 1]);
      }
      return (Map<String, String>) map;
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this Spark version is not supported: " + e.getMessage(), e);
    }
  }
}

package org.firesteel;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
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
        throw Throw.unchecked(new AnalysisException("NAMED_PARAMETERS_NOT_SUPPORTED", one("functionName", quoted(name))));
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
  private static Expression call(NativeScalar function, Seq<Expression> children) {
    try {
      return (Expression) ApplyFunctionExpression.class.getConstructors()[0].newInstance(function.inSession(), children);
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
          one("functionName", quoted(name))
              .updated("expectedNum", counts.size() == 1 ? expected : "[" + expected + "]")
              .updated("actualNum", Integer.toString(arguments.size()))
              .updated("docroot", "https://spark.apache.org/docs/latest"));
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
        one("sqlExpr", "\"" + name + "(" + String.join(", ", texts) + ")\"")
            .updated("paramIndex", most < ORDINALS.length ? ORDINALS[most] : most + 1 + "th")
            .updated("requiredType", String.join(" or ", wanted))
            .updated("inputSql", "\"" + given.sql() + "\"")
            .updated("inputType", Types.quoted(given.dataType())));
  }

  static String quoted(String name) {
    return "`" + name + "`";
  }

  static Map<String, String> one(String key, String value) {
    return new Map.Map1<>(key, value);
  }
}

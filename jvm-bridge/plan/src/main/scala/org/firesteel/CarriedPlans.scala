package org.firesteel

import scala.runtime.AbstractFunction1

import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}

/** `spark.sql.extensions=org.firesteel.CarriedPlans`, on the driver: stages of generated code carry their operators, so
  * that executors that do not run Java can run them. Plans, generated code and the classes that tasks need stay Spark's.
  *
  * Compiled by Scala 2.12 against Spark 3.5 it runs with Scala 2.13 and Spark 4, too. Therefore no signature here and no
  * method that is called has a `Seq`, and no function is written as a lambda, whose class is not in both.
  */
final class CarriedPlans extends AbstractFunction1[SparkSessionExtensions, Unit] {
  override def apply(extensions: SparkSessionExtensions): Unit =
    // The class of sessions is another since Spark 4. Nobody looks at the argument.
    extensions.injectColumnar(new Rules().asInstanceOf[SparkSession => ColumnarRule])
}

private[firesteel] final class Rules extends AbstractFunction1[AnyRef, ColumnarRule] {
  override def apply(session: AnyRef): ColumnarRule = new LastColumnarRule
}

/** Spark's last step before it puts stages of code into a plan, with and without adaptive execution. */
private[firesteel] final class LastColumnarRule extends ColumnarRule {
  override def postColumnarTransitions: Rule[SparkPlan] = new MarkStages
}

package org.firesteel

import scala.util.control.NonFatal

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

/** What a stage has to know of another one whose rows it reads. Written as it is, never read by Java. */
private[firesteel] final class OtherStage(plan: SparkPlan, exchange: SparkPlan) extends Serializable {
  /** Columns: a `Seq` of attributes, whose class is not the same in all versions of Scala. */
  val output: AnyRef = OtherStage.call(plan, "output")

  /** By name; the `Map` of an exchange that is a shuffle, which tells which one is read. */
  val readMetrics: AnyRef = exchange match {
    case null => null
    case reused: ReusedExchangeExec => OtherStage.call(reused.child, "readMetrics")
    case other => OtherStage.call(other, "readMetrics")
  }
}

private[firesteel] object OtherStage {
  private def call(plan: SparkPlan, method: String): AnyRef =
    try plan.getClass.getMethod(method).invoke(plan)
    catch {
      case NonFatal(_) => null
    }
}

package org.firesteel

import scala.util.control.NonFatal

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec

/** What a stage has to know of another one whose rows it reads. Written as it is, never read by Java. */
private[firesteel] final class OtherStage(plan: SparkPlan, exchange: SparkPlan) extends java.io.Serializable {
  /** Columns: a `Seq` of attributes, whose class is not the same in all versions of Scala. */
  val output: AnyRef = Reflection.call(plan, "output")

  /** By name; the `Map` of an exchange that is a shuffle, which tells which one is read. */
  val readMetrics: AnyRef = exchange match {
    case null => null
    case reused: ReusedExchangeExec => Reflection.call(reused.child, "readMetrics")
    case other => Reflection.call(other, "readMetrics")
  }
}

/** No companion of a class that is serializable: it would be so, too, by a class that Scala 2.13 has not. */
private[firesteel] object Reflection {
  /** What a method without arguments gives, `null` if there is none. */
  def call(any: AnyRef, method: String): AnyRef =
    try any.getClass.getMethod(method).invoke(any)
    catch {
      case NonFatal(_) => null
    }
}

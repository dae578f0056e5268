package org.firesteel

import java.io.{ByteArrayOutputStream, IOException, ObjectOutputStream, OutputStream}

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.{BaseSubqueryExec, SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.Exchange

/** The operators of a stage as one object: a pair of [[PackedPlan.Name]] and the bytes of their own object stream. A JVM
  * that runs the stage's code does not read them, and needs no class of this jar. The other side is `carried.rs` of the
  * crate `catalyst`.
  */
private[firesteel] object PackedPlan {
  /** What data in a query cannot be taken for, as no literal is a pair. */
  val Name = "org.firesteel.plan"
  val Variable = "org.apache.spark.sql.catalyst.expressions.VariableReference"
  private val MostBytes = 1 << 20
  private val log = LoggerFactory.getLogger("org.firesteel.CarriedPlans")

  /** `null` for what cannot be sent, as operators of others, or is too large. */
  def apply(stage: WholeStageCodegenExec): AnyRef =
    try {
      val bytes = new BoundedBytes(MostBytes)
      val stream = new TrimmingStream(bytes, stage)
      stream.writeObject(stage)
      stream.close()
      new Tuple2(Name, bytes.toByteArray)
    } catch {
      case error@(_: StackOverflowError | _: LinkageError) => leftOut(stage, error)
      case NonFatal(error) => leftOut(stage, error)
    }

  private def leftOut(stage: WholeStageCodegenExec, error: Throwable): AnyRef = {
    log.debug("Stage of code {} goes without its operators: {}", stage.codegenStageId, error)
    null
  }
}

private[firesteel] final class BoundedBytes(most: Int) extends ByteArrayOutputStream {
  override def write(byte: Int): Unit = synchronized {
    check(1)
    super.write(byte)
  }

  override def write(bytes: Array[Byte], from: Int, many: Int): Unit = synchronized {
    check(many)
    super.write(bytes, from, many)
  }

  private def check(many: Int): Unit = if (most - size < many) throw new IOException("too many bytes")
}

/** Leaves out what other stages compute, and what only the driver needs. Stages of code whose rows `stage` reads within
  * the same task carry their own operators.
  */
private[firesteel] final class TrimmingStream(out: OutputStream, stage: WholeStageCodegenExec)
    extends ObjectOutputStream(out) {
  enableReplaceObject(true)

  override protected def replaceObject(any: AnyRef): AnyRef = any match {
    case code: WholeStageCodegenExec if code ne stage => new OtherStage(code, null)
    case query: QueryStageExec => new OtherStage(query, query.plan)
    case exchange: Exchange => new OtherStage(exchange, exchange)
    case subquery: BaseSubqueryExec => new OtherStage(subquery.asInstanceOf[SparkPlan], null)
    case _: LogicalPlan => null
    // Tasks have them besides.
    case _: RDD[_] => null
    // A class since Spark 4. Its catalog cannot be sent, and generated code has the literal, too.
    case variable if variable.getClass.getName == PackedPlan.Variable =>
      Reflection.call(Reflection.call(variable, "varDef"), "currentValue")
    case other => other
  }
}

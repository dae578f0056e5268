package org.firesteel

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeAndComment, CodegenContext}
import org.apache.spark.sql.execution.{SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/** A stage of generated code that adds its operators to the objects that the code refers to. The code does not look at
  * them.
  *
  * Before it is `made` it marks the place of a stage: it does not support generated code, so Spark puts its own stage
  * below it, and [[withNewChildInternal]] takes that one in. So plans have no more operators than without it.
  */
private[firesteel] final class CarryingStage(child: SparkPlan, id: Int, made: Boolean) extends WholeStageCodegenExec(child)(id) {
  /** For `TreeNode.makeCopy`. */
  def this(child: SparkPlan, id: Int) = this(child, id, true)

  @transient private[this] var plain: WholeStageCodegenExec = _

  /** Spark's one, and how many tasks ran natively: an executor that runs one adds 1 to the metric of this name
    * (`src/lanes/sql/sql_metrics.rs`), which comes to it with the code. The `Map` is made as both versions of Scala do.
    */
  override lazy val metrics: Map[String, SQLMetric] = new Map.Map2(
    "pipelineTime", SQLMetrics.createTimingMetric(sparkContext, WholeStageCodegenExec.PIPELINE_DURATION_METRIC),
    NativeTasks.Key, SQLMetrics.createMetric(sparkContext, NativeTasks.Name))

  override def supportCodegen: Boolean = made

  override protected def withNewChildInternal(newChild: SparkPlan): WholeStageCodegenExec = newChild match {
    case stage: WholeStageCodegenExec if !made => new CarryingStage(stage.child, stage.codegenStageId, true)
    case _ => new CarryingStage(newChild, codegenStageId, made)
  }

  /** A stage is equal to Spark's. A mark is not: trees keep a child that a new one is equal to. */
  override def equals(that: Any): Boolean = if (made) super.equals(that) else this eq that.asInstanceOf[AnyRef]
  override def canEqual(that: Any): Boolean = made && super.canEqual(that)
  override def hashCode(): Int = super.hashCode()

  override def doCodeGen(): (CodegenContext, CodeAndComment) = {
    val generated = super.doCodeGen()
    val packed = PackedPlan(asSparks)
    if (packed != null) {
      generated._1.addReferenceObj("operators", packed, "Object")
      generated._1.addReferenceObj(NativeTasks.Key, longMetric(NativeTasks.Key), "Object")
    }
    generated
  }

  /** A mark that Spark has left alone stands for its child. */
  override def doExecute(): RDD[InternalRow] = if (made) super.doExecute() else child.execute()

  /** Spark's own class, for all that leaves the driver. */
  private def asSparks: WholeStageCodegenExec = synchronized {
    if (plain == null) plain = new WholeStageCodegenExec(child)(codegenStageId)
    plain
  }

  private def writeReplace(): AnyRef = asSparks
}

/** The metric that counts them. No companion, as in `Reflection`. */
private[firesteel] object NativeTasks {
  val Key = "nativeTasks"
  val Name = "native tasks"
}

package org.firesteel

import java.util.concurrent.atomic.AtomicInteger

import scala.runtime.AbstractFunction1

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{CollapseCodegenStages, InputAdapter, SparkPlan, WholeStageCodegenExec}

/** Finds out where Spark will put stages of code, by doing it, and puts a [[CarryingStage]] there. */
private[firesteel] final class MarkStages extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan =
    if (conf.getConfString(MarkStages.Setting, "true") != "true") plan
    else {
      val collapsed = new CollapseCodegenStages(new AtomicInteger).apply(plan)
      if (collapsed eq plan) plan else Mark(collapsed)
    }
}

private[firesteel] object MarkStages {
  /** Of a session: `false` leaves its stages as Spark makes them. */
  val Setting = "spark.firesteel.plan.carry"
}

private[firesteel] object Mark extends AbstractFunction1[SparkPlan, SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan match {
    case adapter: InputAdapter => apply(adapter.child)
    case other => other.mapChildren(this) match {
      case stage: WholeStageCodegenExec => new CarryingStage(stage.child, 0, false)
      case other => other
    }
  }
}

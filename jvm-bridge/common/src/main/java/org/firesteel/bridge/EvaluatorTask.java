package org.firesteel.bridge;

import java.util.Properties;
import org.apache.spark.JobArtifactSet;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.Task;
import org.apache.spark.util.AccumulatorV2;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.Seq;

/** Evaluates what a native task asks for until that ends. */
final class EvaluatorTask extends Task<Object> {
  private static final long serialVersionUID = 1;

  private final long id;

  EvaluatorTask(
      long id, int stage, int stageAttempt, int partition, int partitions, JobArtifactSet artifacts,
      Properties properties, byte[] metrics) {
    super(stage, stageAttempt, partition, partitions, artifacts, properties, metrics, Option.empty(), Option.empty(),
        Option.empty(), false);
    this.id = id;
  }

  @Override
  public Object runTask(TaskContext context) {
    new EvaluatorLoop(id, context, this::added).run();
    return null;
  }

  /** What functions have added to, and this task's own numbers. */
  private Iterator<AccumulatorV2<?, ?>> added() {
    return Reflect.<Seq<AccumulatorV2<?, ?>>>cast(collectAccumulatorUpdates(false)).iterator();
  }
}

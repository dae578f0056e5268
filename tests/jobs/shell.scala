// Fed to spark-shell's standard input, line by line as if typed: classes and closures that exist only there, lost executors.
import java.util.concurrent.ConcurrentLinkedQueue
import org.apache.spark.TaskContext
import org.apache.spark.scheduler._
import org.apache.spark.storage.StorageLevel
import scala.jdk.CollectionConverters._

@transient val answers = new java.util.TreeMap[String, Object]()
@transient val errors = new java.util.TreeMap[String, Object]()

def mask(text: String): String = {
  val ids = text.replaceAll("executor \\d+", "executor n").replaceAll("TID \\d+", "TID n").replaceAll("stage \\d+\\.\\d+", "stage n")
  ids.replaceAll("ExecutorLostFailure\\(\\d+", "ExecutorLostFailure(n").replaceAll("\\$Lambda[$/0-9a-fx.]+", "\\$Lambda").replaceAll("@[0-9a-f]{5,8}\\b", "@hash")
}

@transient val ended = new ConcurrentLinkedQueue[String]()
@transient val removed = new ConcurrentLinkedQueue[String]()
@transient val lost = new ConcurrentLinkedQueue[String]()
@transient val counts = new java.util.concurrent.ConcurrentHashMap[String, Array[Int]]()
@transient val listener = new SparkListener {
  override def onTaskEnd(end: SparkListenerTaskEnd): Unit = {
    val count = counts.computeIfAbsent(end.taskInfo.executorId, _ => Array(0, 0))
    val m = end.taskMetrics
    end.reason match {
      case org.apache.spark.Success =>
        count(0) += 1
        ended.add(s"task ${end.taskInfo.index} of ${end.taskType}: in ${m.inputMetrics.recordsRead}, shuffle read " +
          s"${m.shuffleReadMetrics.recordsRead}, shuffle written ${m.shuffleWriteMetrics.recordsWritten}, out ${m.outputMetrics.recordsWritten}")
      case reason =>
        if (!reason.isInstanceOf[org.apache.spark.ExecutorLostFailure]) count(1) += 1
        ended.add(s"task ${end.taskInfo.index} attempt ${end.taskInfo.attemptNumber}: " + mask(reason.toString.takeWhile(_ != '\n')))
    }
  }
  override def onExecutorRemoved(event: SparkListenerExecutorRemoved): Unit = {
    removed.add(mask(event.reason))
    lost.add(event.executorId)
  }
}
sc.addSparkListener(listener)

def drain(): Unit = {
  val bus = sc.getClass.getMethod("listenerBus").invoke(sc)
  bus.getClass.getMethod("waitUntilEmpty").invoke(bus)
}

def theme(name: String, withTasks: Boolean = true)(body: => Any): Unit = {
  val started = System.nanoTime
  try answers.put(name, String.valueOf(body)) catch { case error: Throwable => errors.put(name, error.toString) }
  drain()
  if (withTasks) answers.put(name + ", tasks", ended.asScala.toSeq.sorted.asJava)
  ended.clear()
  println(s"$name: ${(System.nanoTime - started) / 1000000} ms")
}

def executors(count: Int): Unit = {
  val deadline = System.nanoTime + 60L * 1000 * 1000 * 1000
  while (sc.statusTracker.getExecutorInfos.length != count + 1) {
    if (System.nanoTime > deadline) throw new IllegalStateException("no " + count + " executors in 60 s")
    Thread.sleep(50)
  }
}
executors(2)

case class Point(x: Int, y: Int) { def norm: Double = math.hypot(x, y) }
class Scaler(val factor: Int) extends Serializable { def apply(p: Point): Point = Point(p.x * factor, p.y * factor) }
trait Shape { def area: Int }
object Shapes { def square(side: Int): Shape = new Shape with Serializable { def area: Int = side * side } }
val scaler = new Scaler(3)
val offset = 5

theme("classes of the shell") {
  val points = sc.parallelize(1 to 200, 4).map(i => scaler(Point(i, offset)))
  val sums = points.map(p => (p.x % 7, p.norm)).reduceByKey(_ + _, 3).mapValues(v => f"$v%.6f").collect().sorted
  sums.mkString(" ") + " " + sc.parallelize(1 to 10, 2).map(i => Shapes.square(i).area).sum
}

theme("datasets of the shell") {
  val points = spark.createDataset(1 to 100).repartition(3).map(i => Point(i, i % 4))
  points.filter(_.y > 0).groupByKey(_.y).mapGroups((k, ps) => (k, ps.map(_.x).sum)).collect().sorted.mkString(" ")
}

theme("functions of the shell") {
  val twice = (i: Long) => i * 2 + offset
  spark.udf.register("twice", twice)
  spark.sql("select sum(twice(id)) from range(0, 1000, 1, 4)").collect().mkString
}

theme("accumulators of the shell") {
  val seen = sc.longAccumulator("seen")
  val names = sc.collectionAccumulator[String]("names")
  sc.parallelize(1 to 100, 5).foreach { i => seen.add(i); if (i % 20 == 0) names.add("n" + i) }
  seen.value + " " + names.value.asScala.sorted.mkString(",")
}

theme("broadcast, twice") {
  val table = sc.broadcast((1 to 400000).map(i => Point(i, -i)).toArray)
  def ask(): Long = sc.parallelize(0 until 8, 8).map(i => table.value(i * 50000).x.toLong).sum.toLong
  val first = ask()
  table.unpersist(true)
  val second = ask()
  table.destroy()
  first + " " + second
}

theme("cached points") {
  val points = sc.parallelize(1 to 20000, 4).map(i => Point(i, 1)).persist(StorageLevel.MEMORY_ONLY_SER)
  val found = Seq(points.count(), points.map(_.x.toLong).sum.toLong)
  val stored = sc.getRDDStorageInfo.map(i => (i.numCachedPartitions, i.memSize, i.diskSize)).mkString
  points.unpersist(true)
  found.mkString(" ") + " " + stored
}

theme("sorted") {
  val sorted = sc.parallelize(1 to 60000, 4).map(i => ((i * 7919L) % 60013, "v" * (i % 20))).sortByKey(true, 3)
  sorted.map(_._1).zipWithIndex.filter(_._2 % 20000 == 0).collect().mkString(" ")
}

theme("an exception of the shell") {
  class Refused(message: String) extends RuntimeException(message)
  try { sc.parallelize(1 to 4, 2).map(i => if (i == 4) throw new Refused("four") else i).count(); "no exception" } catch {
    case e: org.apache.spark.SparkException =>
      val stack = e.getCause.getStackTrace.map(frame => mask(frame.toString)).mkString(" < ")
      mask(e.getMessage.takeWhile(_ != '\n')) + " <- " + e.getCause.getClass.getName + ": " + e.getCause.getMessage + " at " + stack
  }
}

// The processes that end take one running task with them each; the second attempt does the work.
theme("System.exit in a task") {
  val sum = sc.parallelize(1 to 1, 1).map { i =>
    if (TaskContext.get().attemptNumber() == 0) { System.exit(7); Thread.sleep(60000) }
    i
  }.sum
  executors(2)
  sum
}

// While the executor dies it may refuse the next attempts so quickly that the job fails: then once more. Its tasks are
// not compared for the same reason.
theme("OutOfMemoryError in a task", withTasks = false) {
  val once = System.getenv("E2E_RESULT") + ".once"
  def job(): Double = sc.parallelize(1 to 1, 1).map { i =>
    if (new java.io.File(once).createNewFile()) new Array[Long](Int.MaxValue).length
    i
  }.sum
  val sum = try job() catch {
    case _: org.apache.spark.SparkException =>
      Thread.sleep(2000)
      job()
  }
  val deadline = System.nanoTime + 60L * 1000 * 1000 * 1000
  while (removed.size < 2 && System.nanoTime < deadline) Thread.sleep(50)
  executors(2)
  sum
}

drain()
answers.put("removed executors", removed.asScala.toSeq.asJava)
val result = new java.util.TreeMap[String, Object]()
result.put("answers", answers)
result.put("errors", errors)
result.put("lost", lost)
result.put("version", sc.version)
result.put("counters", counts.asScala.map { case (id, c) => id -> Map("finished" -> c(0), "failed" -> c(1)).asJava }.asJava)
new com.fasterxml.jackson.databind.ObjectMapper().writeValue(new java.io.File(System.getenv("E2E_RESULT")), result)
spark.stop()
System.exit(0)

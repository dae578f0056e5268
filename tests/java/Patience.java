import static net.bytebuddy.matcher.ElementMatchers.nameStartsWith;
import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.none;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;

import java.lang.instrument.Instrumentation;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.matcher.ElementMatcher;
import org.scalatest.time.Span;
import scala.concurrent.duration.Duration;

/**
 * An agent that multiplies the time limits within Spark's suites by `-Dsuites.patience`. They are constants in the code
 * of each test (`eventually(timeout(10.seconds))`, `failAfter`, `waitUntilExecutorsUp`), and on a busy machine of two
 * cores plain Spark misses them as well, which says nothing about executors. ScalaTest's own factor, `-F`, reaches only
 * limits that tests write with `scaled`, and Spark's do not.
 */
public final class Patience {
    private static final double FACTOR = Double.parseDouble(System.getProperty("suites.patience", "1"));
    private static final long SECOND = 1_000L;
    /** Limits of an hour and more are meant as none. */
    private static final long HOUR = 3_600_000L;

    public static void premain(String arguments, Instrumentation instrumentation) {
        AgentBuilder agent = new AgentBuilder.Default().disableClassFormatChanges().ignore(none());
        agent = longer(agent, "org.scalatest.enablers.Retrying$$anon", Spans.class, named("retry").and(takesArgument(0, Span.class)));
        agent = longer(agent, "org.scalatest.concurrent.TimeLimits$", Spans.class, nameStartsWith("failAfterImpl").and(takesArgument(0, Span.class)));
        agent = longer(agent, "org.apache.spark.TestUtils$", Milliseconds.class, named("waitUntilExecutorsUp").and(takesArgument(2, long.class)));
        // `ThreadUtils.awaitResult` calls that of `SparkThreadUtils` where there is one.
        boolean calls = ClassLoader.getSystemResource("org/apache/spark/util/SparkThreadUtils$.class") != null;
        ElementMatcher.Junction<MethodDescription> waits = named("awaitReady").and(takesArgument(1, Duration.class));
        ElementMatcher.Junction<MethodDescription> results = named("awaitResult").and(takesArgument(1, Duration.class));
        agent = longer(agent, "org.apache.spark.util.ThreadUtils$", Durations.class, calls ? waits : waits.or(results));
        agent = longer(agent, "org.apache.spark.util.SparkThreadUtils$", Durations.class, results);
        agent.installOn(instrumentation);
    }

    private static AgentBuilder longer(AgentBuilder agent, String types, Class<?> advice, ElementMatcher<? super MethodDescription> methods) {
        return agent.type(nameStartsWith(types)).transform((builder, type, loader, module, domain) -> builder.visit(Advice.to(advice).on(methods)));
    }

    public static boolean isLimit(long milliseconds) {
        return milliseconds >= SECOND && milliseconds < HOUR;
    }

    public static double factor() {
        return FACTOR;
    }

    public static final class Spans {
        @Advice.OnMethodEnter
        public static void enter(@Advice.Argument(value = 0, readOnly = false) Span limit) {
            if (isLimit(limit.totalNanos() / 1_000_000L)) {
                limit = limit.scaledBy(factor());
            }
        }
    }

    public static final class Milliseconds {
        @Advice.OnMethodEnter
        public static void enter(@Advice.Argument(value = 2, readOnly = false) long limit) {
            limit = (long) (limit * factor());
        }
    }

    public static final class Durations {
        @Advice.OnMethodEnter
        public static void enter(@Advice.Argument(value = 1, readOnly = false) Duration limit) {
            if (limit.isFinite() && isLimit(limit.toMillis())) {
                limit = limit.$times(factor());
            }
        }
    }
}

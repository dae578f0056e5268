import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.temporal.ChronoUnit;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.time.zone.ZoneRulesProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;

/**
 * What java.time makes of times in every region, for java.rs: the name of a region, and for each time its microseconds
 * as an instant and as a local time, the offset at the instant, the offset that is preferred for the local time, and
 * the instants of the local time, of the same with that offset, and of the start of its day.
 */
public final class Zones {
    private static final long SECOND = 1_000_000;

    public static void main(String[] args) throws IOException {
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        int random = Integer.parseInt(args[0]);
        for (String id : new TreeSet<>(ZoneRulesProvider.getAvailableZoneIds())) {
            ZoneId zone = ZoneId.of(id);
            List<Long> times = times(zone.getRules(), random, new Random(id.hashCode()));
            out.writeUTF(id);
            out.writeInt(times.size());
            for (long time : times) {
                write(out, zone, time);
            }
        }
        out.flush();
    }

    private static List<Long> times(ZoneRules rules, int random, Random numbers) {
        List<Long> times = new ArrayList<>();
        List<ZoneOffsetTransition> changes = new ArrayList<>(rules.getTransitions());
        // Those that come every year.
        Instant next = Instant.parse("2036-01-01T00:00:00Z");
        for (int n = 0; n < 300; n++) {
            ZoneOffsetTransition change = rules.nextTransition(next);
            if (change == null) {
                break;
            }
            changes.add(change);
            next = change.getInstant().plus(Duration.ofDays(n > 50 ? 30 * n : 1));
        }
        for (ZoneOffsetTransition change : changes) {
            long instant = change.toEpochSecond();
            long before = change.getDateTimeBefore().toEpochSecond(ZoneOffset.UTC);
            long after = change.getDateTimeAfter().toEpochSecond(ZoneOffset.UTC);
            for (long second : new long[] {instant, before, after, (before + after) / 2}) {
                for (long micros : new long[] {-1, 0, 1}) {
                    times.add(second * SECOND + micros);
                }
            }
        }
        for (String text : new String[] {"0001-01-01", "9999-12-31", "1582-10-10", "1970-01-01", "2037-12-31", "-100000-01-01"}) {
            long second = LocalDate.parse(text).toEpochDay() * 86400;
            times.add(second * SECOND - 1);
            times.add(second * SECOND);
        }
        for (int n = 0; n < random; n++) {
            times.add(numbers.nextLong() / 2);
            times.add(Math.floorMod(numbers.nextLong(), 4_000_000_000_000_000L));
            times.add(Math.floorMod(numbers.nextLong(), 315_000_000_000_000_000L) - 62_000_000_000_000_000L);
        }
        return times;
    }

    private static void write(DataOutputStream out, ZoneId zone, long time) throws IOException {
        Instant instant = Instant.EPOCH.plus(time, ChronoUnit.MICROS);
        LocalDateTime local = LocalDateTime.ofInstant(instant, ZoneOffset.UTC);
        ZoneOffset offset = zone.getRules().getOffset(instant);
        out.writeLong(time);
        out.writeInt(offset.getTotalSeconds());
        // The offset behind the hours in which clocks are changed.
        ZoneOffset preferred = zone.getRules().getOffset(local.plusHours(30).toInstant(offset));
        out.writeInt(preferred.getTotalSeconds());
        out.writeLong(micros(ZonedDateTime.of(local, zone)));
        out.writeLong(micros(ZonedDateTime.ofLocal(local, zone, preferred)));
        out.writeLong(micros(local.toLocalDate().atStartOfDay(zone)));
    }

    private static long micros(ZonedDateTime time) {
        return time.toEpochSecond() * SECOND + time.getNano() / 1000;
    }
}

import java.io.BufferedOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * Random regular expressions, and what Java finds with them in random texts.
 *
 * <p>usage: java Patterns.java SEED PATTERNS TEXTS. Lines are P, a pattern, and ok or error, or T, a text, the places of
 * all groups of all matches, a replacement, and the text that it makes or error. Texts are hexadecimal digits of UTF-16.
 */
public class Patterns {
    private final Random random;
    private int groups;
    /** Few letters, so that much matches. */
    private boolean few;

    Patterns(long seed) {
        random = new Random(seed);
    }

    private String pick(String... of) {
        return of[random.nextInt(of.length)];
    }

    private String letter() {
        if (few) {
            return pick("a", "b", "a", "b", "a", "b", "c", " ");
        }
        return pick("a", "b", "a", "b", "c", "1", "A", "B", "_", "-", " ", "é", "日", "K", "k", "s", ",", "]", "}", "\\.", "\\-", "\\\\",
            "\\t", "\\n", "\\x41", "\\u00e9", "\\$", "'", "\\Qa.b\\E", "\n", "/", "@", ":");
    }

    private String set() {
        if (few) {
            return pick("[ab]", "[^a]", "[^b]", "[a-c]", "[bc]");
        }
        StringBuilder out = new StringBuilder("[");
        out.append(random.nextInt(3) == 0 ? "^" : "").append(random.nextInt(12) == 0 ? "-" : "");
        for (int more = 1 + random.nextInt(3); more > 0; more--) {
            out.append(pick("a", "b", "a-c", "b-z", "0-9", "A-Z", "\\d", "\\w", "\\s", "\\D", "\\W", "\\S", "\\.", "é", "à-ÿ", " ", ".", "$", "(",
                "*", "\\]", "\\\\", "\\-", "+", "1", "_", "^", "&", "\\n", "Z-a", "\\p{Punct}", "\\p{Alpha}", "|", "'", "\\h", ",", "{"));
        }
        return out.append(random.nextInt(12) == 0 ? "-" : "").append("]").toString();
    }

    private String item(int depth) {
        int kind = random.nextInt(depth > 0 ? 16 : 10);
        if (kind < 5) {
            return letter();
        } else if (kind < 7 && few) {
            return pick(".", "\\w", "\\W", "\\s", ".", "a", "b");
        } else if (kind < 7) {
            return pick(".", "\\d", "\\w", "\\s", "\\D", "\\W", "\\S", "\\p{Alnum}", "\\P{Digit}", "\\h", "\\v", "\\p{Space}", "\\p{XDigit}");
        } else if (kind < 9) {
            return set();
        } else if (kind == 9) {
            return pick("^", "$", "\\b", "\\B", "\\A", "\\z", "\\Z", "(?i)", "(?s)", "(?-i)", "(?i-s)");
        } else if (kind == 14) {
            return pick("(?:", "(?:", "(?i:", "(?s:") + alternatives(depth - 1) + ")";
        }
        groups++;
        return (kind < 14 ? "(" : "(?<n" + groups + ">") + alternatives(depth - 1) + ")";
    }

    private String repetition() {
        if (random.nextInt(5) < 3) {
            return "";
        }
        return pick("*", "+", "?", "*", "+", "?", "{2}", "{1,2}", "{0,3}", "{1,}", "{2,}", "{3}") + pick("", "", "?");
    }

    private String sequence(int depth) {
        StringBuilder out = new StringBuilder();
        for (int more = random.nextInt(8) == 0 ? 0 : 1 + random.nextInt(3); more > 0; more--) {
            out.append(item(depth)).append(repetition());
        }
        return out.toString();
    }

    private String alternatives(int depth) {
        StringBuilder out = new StringBuilder(sequence(depth));
        while (random.nextInt(4) == 0) {
            out.append("|").append(sequence(depth));
        }
        return out.toString();
    }

    private String text() {
        StringBuilder out = new StringBuilder();
        for (int more = random.nextInt(few ? 12 : 9); more > 0; more--) {
            if (few) {
                out.append(random.nextInt(60) == 0 ? pick("\n", "é", "😀", "B", "\r") : pick("a", "b", "a", "b", "a", "b", "c", " "));
            } else {
                out.append(pick("a", "b", "a", "b", "a", "b", "c", "1", "2", "A", "B", "_", "-", " ", ".", ",", "é", "É", "日", "\u212A", "k", "K",
                    "s", "\u017F", "😀", "\n", "\r", "\u2028", "\u0085", "\\", "]", "$", "a.b", "\t", "\u00a0", "\u0301", "😀a"));
            }
        }
        return out.toString();
    }

    private static String digits(String text) {
        StringBuilder out = new StringBuilder();
        for (char unit : text.toCharArray()) {
            out.append(String.format("%04x", (int) unit));
        }
        return out.toString();
    }

    public static void main(String[] args) {
        Patterns made = new Patterns(Long.parseLong(args[0]));
        PrintStream out = new PrintStream(new BufferedOutputStream(System.out), false, StandardCharsets.UTF_8);
        for (int number = Integer.parseInt(args[1]); number > 0; number--) {
            made.groups = 0;
            made.few = number % 3 != 0;
            String text = made.alternatives(1 + number % 3);
            Pattern pattern;
            try {
                pattern = Pattern.compile(text);
            } catch (PatternSyntaxException error) {
                out.println("P\t" + digits(text) + "\terror");
                continue;
            }
            out.println("P\t" + digits(text) + "\tok");
            for (int more = Integer.parseInt(args[2]); more > 0; more--) {
                made.search(pattern, out);
            }
        }
        out.flush();
    }

    private void search(Pattern pattern, PrintStream out) {
        String text = text();
        Matcher matcher = pattern.matcher(text);
        StringBuilder found = new StringBuilder();
        while (matcher.find()) {
            for (int group = 0; group <= matcher.groupCount(); group++) {
                found.append(matcher.start(group)).append(":").append(matcher.end(group)).append(",");
            }
            found.append(";");
        }
        String by = pick("-", "", "é", "<$0>", "[$1]", "$2x", "\\$\\\\", "$12", "${n1}", "$", "\\", "a$1b$0", "x$9", "${n2}$1", "${}", "$a", "${n1");
        String made;
        try {
            made = digits(pattern.matcher(text).replaceAll(by));
        } catch (RuntimeException error) {
            made = "error";
        }
        out.println("T\t" + digits(text) + "\t" + found + "\t" + digits(by) + "\t" + made);
    }
}

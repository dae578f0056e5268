import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.HexFormat;

/**
 * Reads Java object streams, one per line in hexadecimal, with the classes of a Spark distribution, and writes each object back the same
 * way: what a real driver would understand of our bytes. An object that cannot be read gives a line with the error.
 */
public class WireEcho {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                Object object = new ObjectInputStream(new ByteArrayInputStream(HexFormat.of().parseHex(line))).readObject();
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
                    out.writeObject(object);
                }
                answer = HexFormat.of().formatHex(bytes.toByteArray());
            } catch (Throwable e) {
                answer = "! " + e;
            }
            System.out.println(answer);
        }
    }
}

import java.util.HashMap;

import io.fabric8.kubernetes.client.server.mock.KubernetesCrudDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;

/** An API server of Kubernetes that keeps what it is given in memory. Prints its address, and ends with its standard input. */
final class MockKube {
    public static void main(String[] arguments) throws Exception {
        KubernetesMockServer server = new KubernetesMockServer(
                new Context(), new MockWebServer(), new HashMap<>(), new KubernetesCrudDispatcher(), false);
        server.init();
        System.out.println("http://127.0.0.1:" + server.getPort());
        System.out.flush();
        while (System.in.read() >= 0) {
            // Whoever started this still wants it.
        }
        System.exit(0);
    }
}

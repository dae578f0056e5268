import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

import com.fasterxml.jackson.core.type.TypeReference;
import io.fabric8.kubernetes.client.server.mock.KubernetesCrudDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;
import io.fabric8.mockwebserver.dsl.HttpMethod;
import io.fabric8.mockwebserver.http.Buffer;
import io.fabric8.mockwebserver.http.Headers;
import io.fabric8.mockwebserver.http.MockResponse;
import io.fabric8.mockwebserver.http.RecordedRequest;

/**
 * An API server of Kubernetes that keeps what it is given in memory. Prints its address, and ends with its standard
 * input.
 */
final class MockKube {
    public static void main(String[] arguments) throws Exception {
        KubernetesMockServer server = new KubernetesMockServer(
                new Context(), new MockWebServer(), new HashMap<>(), new Applying(), false);
        server.init();
        System.out.println("http://127.0.0.1:" + server.getPort());
        System.out.flush();
        while (System.in.read() >= 0) {
            // Whoever started this still wants it.
        }
        System.exit(0);
    }

    /**
     * Knows server-side apply, too: what is not there is made, and what is there is changed by a merge. Pods begin as
     * pending.
     */
    private static final class Applying extends KubernetesCrudDispatcher {
        @Override
        public MockResponse handleCreate(RecordedRequest request) {
            if (!request.getPath().matches("[^?]*/pods(\\?.*)?")) {
                return super.handleCreate(request);
            }
            Map<String, Object> pod = Serialization.unmarshal(request.getUtf8Body(), new TypeReference<>() {});
            pod.put("status", Map.of("phase", "Pending"));
            String body = Serialization.asJson(pod);
            return super.handleCreate(with(HttpMethod.POST, request.getPath(), "application/json", body));
        }

        @Override
        public MockResponse handlePatch(RecordedRequest request) {
            String type = request.getHeader("Content-Type");
            if (type == null || !type.contains("apply-patch")) {
                return super.handlePatch(request);
            }
            String path = request.getPath().replaceFirst("\\?.*", "");
            Map<String, Object> applied = Serialization.unmarshal(request.getUtf8Body(), new TypeReference<>() {});
            String body = Serialization.asJson(applied);
            if (handleGet(path).code() == 404) {
                String collection = path.replaceFirst("/[^/]*$", "");
                return handleCreate(with(HttpMethod.POST, collection, "application/json", body));
            }
            return super.handlePatch(with(HttpMethod.PATCH, path, "application/merge-patch+json", body));
        }

        private static RecordedRequest with(HttpMethod method, String path, String type, String body) {
            Headers headers = Headers.builder().add("Content-Type", type).build();
            Buffer bytes = new Buffer(body.getBytes(StandardCharsets.UTF_8));
            return new RecordedRequest("HTTP/1.1", method, path, headers, bytes);
        }
    }
}

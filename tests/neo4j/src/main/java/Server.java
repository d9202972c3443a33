import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/**
 * Neo4j with GDS over Bolt in one process, for tests: {@code Server HOME PORT}, with the settings of HOME/neo4j.conf. It
 * ends with its standard input.
 */
public final class Server {
    public static void main(String[] arguments) throws IOException {
        SocketAddress address = new SocketAddress("127.0.0.1", Integer.parseInt(arguments[1]));
        Path home = Path.of(arguments[0]);
        DatabaseManagementService service = new DatabaseManagementServiceBuilder(home)
                .loadPropertiesFromFile(home.resolve("neo4j.conf"))
                .setConfig(GraphDatabaseSettings.auth_enabled, true)
                .setConfig(GraphDatabaseSettings.procedure_unrestricted, List.of("gds.*"))
                .setConfig(BoltConnector.enabled, true)
                .setConfig(BoltConnector.listen_address, address)
                .setConfig(BoltConnector.advertised_address, address)
                .build();
        System.out.println("ready");
        while (System.in.read() >= 0) {
            continue;
        }
        service.shutdown();
    }
}

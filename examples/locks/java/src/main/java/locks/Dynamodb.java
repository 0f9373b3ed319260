package locks;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static software.amazon.awssdk.awscore.retry.AwsRetryStrategy.doNotRetry;

import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClientOptions;
import com.amazonaws.services.dynamodbv2.CreateDynamoDBTableOptions;
import java.net.URI;
import java.time.Duration;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.ProvisionedThroughput;

/** DynamoDB Local, without retries and with a deadline for every call, and the table of its locks. */
final class Dynamodb {
    private static final String TABLE = "locks";

    private Dynamodb() {}

    /** A client whose own thread keeps its leases alive, with four heartbeats a lease. */
    static AmazonDynamoDBLockClient locks(Protocol.Request start) {
        long ttl = start.lock().ttl_ms();
        return new AmazonDynamoDBLockClient(AmazonDynamoDBLockClientOptions.builder(client(start), TABLE)
                .withTimeUnit(MILLISECONDS).withLeaseDuration(ttl).withHeartbeatPeriod(ttl / 4).build());
    }

    static void createTable(Protocol.Request start) {
        ProvisionedThroughput any =
                ProvisionedThroughput.builder().readCapacityUnits(10L).writeCapacityUnits(10L).build();
        AmazonDynamoDBLockClient.createLockTableInDynamoDB(
                CreateDynamoDBTableOptions.builder(client(start), any, TABLE).build());
    }

    private static DynamoDbClient client(Protocol.Request start) {
        Duration timeout = Duration.ofMillis(start.timeout_ms());
        AwsBasicCredentials anybody = AwsBasicCredentials.create("fencepost", "fencepost");
        return DynamoDbClient.builder()
                .endpointOverride(URI.create("http://" + start.lock().endpoints()[0]))
                .region(Region.US_EAST_1)
                .credentialsProvider(StaticCredentialsProvider.create(anybody))
                .httpClientBuilder(UrlConnectionHttpClient.builder().connectionTimeout(timeout).socketTimeout(timeout))
                .overrideConfiguration(calls -> calls.retryStrategy(doNotRetry()).apiCallTimeout(timeout))
                .build();
    }
}

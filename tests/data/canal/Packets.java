// Writes packets with Canal's own classes, and what Canal's own code makes of them as JSON: a line each, the packet in
// base64, a tab, and the JSON messages as a list. Kept as packets.tsv. To be run with the jars of
// com.alibaba.otter:connector.core:1.1.7 and what it needs:
//   javac -cp 'lib/*' Packets.java && java -cp 'lib/*:.' Packets > packets.tsv

import com.alibaba.fastjson2.JSON;
import com.alibaba.fastjson2.JSONWriter;
import com.alibaba.otter.canal.connector.core.producer.MQMessageUtils;
import com.alibaba.otter.canal.connector.core.util.CanalMessageSerializerUtil;
import com.alibaba.otter.canal.protocol.CanalEntry.*;
import com.alibaba.otter.canal.protocol.FlatMessage;
import com.alibaba.otter.canal.protocol.Message;
import java.util.*;
import java.util.concurrent.*;

public class Packets {
    static final ThreadPoolExecutor POOL =
            new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
    static final String[] NAMES = {"id", "name", "weight", "sold"};
    static final int[] TYPES = {-5, 12, 3, 93};
    static final String[] MYSQL = {"bigint(20)", "varchar(255)", "decimal(10,2)", "datetime"};

    static List<Column> row(String[] values, boolean... updated) {
        List<Column> made = new ArrayList<>();
        for (int at = 0; at < NAMES.length; at++) {
            Column.Builder column = Column.newBuilder().setIndex(at).setSqlType(TYPES[at]).setName(NAMES[at])
                    .setIsKey(at == 0).setUpdated(updated.length > at && updated[at]).setMysqlType(MYSQL[at]);
            if (values[at] == null) column.setIsNull(true); else column.setIsNull(false).setValue(values[at]);
            made.add(column.build());
        }
        return made;
    }

    static RowData data(List<Column> before, List<Column> after) {
        RowData.Builder made = RowData.newBuilder();
        if (before != null) made.addAllBeforeColumns(before);
        if (after != null) made.addAllAfterColumns(after);
        return made.build();
    }

    static Entry entry(String table, EventType type, boolean ddl, String sql, RowData... rows) {
        RowChange change = RowChange.newBuilder().setTableId(7).setEventType(type).setIsDdl(ddl).setSql(sql)
                .addAllRowDatas(Arrays.asList(rows)).build();
        return Entry.newBuilder().setEntryType(EntryType.ROWDATA).setHeader(header(table, type))
                .setStoreValue(change.toByteString()).build();
    }

    static Header header(String table, EventType type) {
        return Header.newBuilder().setVersion(1).setLogfileName("mysql-bin.000003").setLogfileOffset(4711)
                .setServerId(1).setExecuteTime(1589373560000L).setSourceType(Type.MYSQL).setSchemaName("inventory")
                .setTableName(table).setEventLength(40).setEventType(type).build();
    }

    static Entry edge(EntryType type) {
        return Entry.newBuilder().setEntryType(type).setHeader(header("products", EventType.QUERY))
                .setStoreValue(TransactionEnd.newBuilder().setTransactionId("9").build().toByteString()).build();
    }

    static void print(Entry... entries) {
        Message message = new Message(5, Arrays.asList(entries));
        byte[] packet = CanalMessageSerializerUtil.serializer(message, false);
        List<FlatMessage> flat = MQMessageUtils.messageConverter(MQMessageUtils.buildMessageData(message, POOL), 5);
        System.out.println(Base64.getEncoder().encodeToString(packet) + "\t"
                + JSON.toJSONString(flat, JSONWriter.Feature.WriteNulls));
    }

    public static void main(String[] arguments) {
        String[] old = {"111", "scooter", "5.15", "2020-05-13 12:39:20"};
        String[] now = {"111", "scooter", "5.18", null};
        String[] other = {"112", "größe", null, "2020-05-13 12:39:21"};
        String[] empty = {"113", "", "0.00", "2020-05-13 00:00:00"};
        print(entry("products", EventType.INSERT, false, "", data(null, row(old))));
        print(edge(EntryType.TRANSACTIONBEGIN),
                entry("products", EventType.INSERT, false, "", data(null, row(other)), data(null, row(empty))),
                entry("products", EventType.UPDATE, false, "",
                        data(row(old), row(now, false, false, true, true))),
                entry("orders", EventType.DELETE, false, "", data(row(other), null)),
                edge(EntryType.TRANSACTIONEND));
        print(entry("products", EventType.CREATE, true, "CREATE TABLE products (id BIGINT)"));
        print(entry("products", EventType.UPDATE, false, "",
                data(row(empty), row(other, false, true, true, true)), data(row(other), row(old, true, true, true, true))));
        print(entry("products", EventType.DELETE, false, "", data(row(now), null), data(row(empty), null)));
        print(edge(EntryType.TRANSACTIONBEGIN), edge(EntryType.TRANSACTIONEND));
        POOL.shutdown();
    }
}

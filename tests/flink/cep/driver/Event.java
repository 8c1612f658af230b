/** An event of a case: its place in the case is what answers show. */
public class Event {
    public int index;
    public String key;
    public String name;
    public long price;
    public long ts;

    /** What `subtype("Big")` takes: events with a price of 10 or more. */
    public static class Big extends Event {}

    public static Event of(int index, String key, String name, long price, long ts) {
        Event made = price >= 10 ? new Big() : new Event();
        made.index = index;
        made.key = key;
        made.name = name;
        made.price = price;
        made.ts = ts;
        return made;
    }
}

import java.io.*;
public class Harmless {
    static int work(int n) { return n < 50 ? n * n : work(n - 50) + 1; }
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            long total = 0;
            for (int r = 0; r < Integer.parseInt(line.trim()); r++)
                for (int i = 0; i < 200; i++) {
                    total += work(i) + ("x" + i).length();
                    synchronized (in) { total += new int[64].length; }
                }
            if (Integer.parseInt(line.trim()) == 3) System.gc();
            System.out.println(total);
            System.out.flush();
        }
    }
}

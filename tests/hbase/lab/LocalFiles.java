import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.*;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * The files of this machine, whose modes are set by a call: without its native library
 * Hadoop starts a chmod(1) for each file and each directory.
 */
public class LocalFiles extends LocalFileSystem {
    public LocalFiles() {
        super(new RawLocalFileSystem() {
            @Override
            public void setPermission(Path path, FsPermission mode) throws IOException {
                Files.setPosixFilePermissions(pathToFile(path).toPath(),
                    PosixFilePermissions.fromString(mode.getUserAction().SYMBOL
                        + mode.getGroupAction().SYMBOL + mode.getOtherAction().SYMBOL));
            }
        });
    }
}

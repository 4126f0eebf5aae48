package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights of Landlock that a sandbox can give.
const (
	toRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	toList  = unix.LANDLOCK_ACCESS_FS_READ_DIR
	toFile  = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	toWrite = toFile | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	// Without folders and links of its own, a command can make no repository there.
	toShare = toFile | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_REG
	all     = toRead | toList | toWrite
)

// The first version of Landlock that restricts truncation, and the first that restricts signals.
const (
	withTruncate = 3
	withScopes   = 6
)

// scopes keep processes of the sandbox from sending signals to processes outside it, and from their abstract sockets.
const scopes = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL

func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// signalsRestricted reports whether processes of a sandbox can send signals only to each other.
func signalsRestricted() bool { return landlockVersion() >= withScopes }

func landlockWorks() error {
	switch v := landlockVersion(); {
	case v == 0:
		return errors.New("the kernel has no Landlock")
	case v < withTruncate:
		return fmt.Errorf("the kernel's Landlock is too old (version %d, not %d)", v, withTruncate)
	}
	return nil
}

// How Child runs a command: the argument after [Arg].
const (
	whole  = "whole"  // restricted in all, and what it leaves running is killed when it ends
	inner  = "inner"  // restricted in all, in the place of this process
	scoped = "scoped" // only kept from signals to others and from their abstract sockets, in the place of this process
)

// Child runs a command that is restricted. args are the arguments after [Arg]. It returns the exit status, if it returns.
func Child(args []string) int {
	at := slices.Index(args, "--")
	if at < 1 || at+1 >= len(args) {
		fmt.Fprintln(os.Stderr, "tape: error: "+Arg+" is for tape itself")
		return 2
	}
	if args[0] == whole {
		return runToEnd(args[1:])
	}
	// Landlock restricts only the calling thread, so the same thread has to run the command.
	runtime.LockOSThread()
	var err error
	if args[0] == scoped {
		err = restrictScopes()
	} else {
		err = restrict(args[1:at])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tape: error: the command is not run, because it could not be confined:", err)
		return 126
	}
	argv := args[at+1:]
	fmt.Fprintln(os.Stderr, "tape: error: run the command:", syscall.Exec(argv[0], argv, os.Environ()))
	return 127
}

// restrictScopes restricts this thread in its signals and abstract sockets alone.
func restrictScopes() error {
	return confineThread(unix.LandlockRulesetAttr{Scoped: scopes}, func(ruleset) error { return nil })
}

// restrict restricts this thread. Each of paths begins with w if it may be written to, with h if it is hidden,
// with s if files may be made there.
func restrict(paths []string) error {
	// The user's terminals are hidden: a program that reads from one gets what is typed there.
	written, hidden, shared := []string{}, []string{"/dev/pts"}, []string{}
	for _, path := range paths {
		switch path[0] {
		case 'w':
			written = append(written, path[1:])
		case 'h':
			hidden = append(hidden, path[1:])
		case 's':
			shared = append(shared, path[1:])
		}
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: all}
	if signalsRestricted() {
		attr.Scoped = scopes
	}
	err := confineThread(attr, func(r ruleset) error {
		for _, give := range []struct {
			rights uint64
			to     []string
		}{
			{toList, []string{"/"}}, {toRead, readable("/", hidden)}, {toWrite, written}, {toShare, shared}, {toFile, []string{"/dev/null", "/dev/zero", "/dev/full"}},
		} {
			for _, path := range give.to {
				if err := r.allow(path, give.rights); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	// With the capabilities of root, the command could read the memory of other processes.
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	return nil
}

// confineThread restricts this thread to what the rules allow that add gives.
func confineThread(attr unix.LandlockRulesetAttr, add func(ruleset) error) error {
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if attr.Scoped != 0 {
		size = unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("create a ruleset: %w", errno)
	}
	defer func() { _ = unix.Close(int(fd)) }()
	if err := add(ruleset(fd)); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("restrict: %w", errno)
	}
	return nil
}

// ruleset is the file descriptor of a set of Landlock rules.
type ruleset uintptr

// allow gives rights to a path and everything below it. A path that does not exist or cannot be opened gets none.
func (r ruleset) allow(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENXIO) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("stat %s: %w", path, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR { // the other rights are for folders
		rights &= toRead | toFile
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("allow %s: %w", path, errno)
	}
	return nil
}

// readable returns folders and files that together make up everything below dir except the hidden paths. Symbolic
// links are left out: one could lead to a hidden path, and its target is in the list under its own path.
func readable(dir string, hidden []string) (out []string) {
	if !slices.ContainsFunc(hidden, func(h string) bool { return isIn(h, dir) }) {
		return []string{dir}
	}
	if slices.Contains(hidden, dir) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 {
			out = append(out, readable(filepath.Join(dir, e.Name()), hidden)...)
		}
	}
	return out
}

// identityOf returns what changes with a folder's entries.
func identityOf(info fs.FileInfo) identity {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{dev: uint64(stat.Dev), ino: stat.Ino, sec: int64(stat.Ctim.Sec), nsec: int64(stat.Ctim.Nsec)} //nolint:unconvert // on 32-bit systems they are shorter
}

func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == uint32(os.Getuid())
}

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sockets returns the sockets that answer for the user, wherever they are: agents with keys, terminals, editors. Those
// of other users, such as the system's databases, are not in the list, nor those that commands have made.
func (w *watch) sockets() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(userSockets(w.home, w.project), func(path string) bool { return w.writes(path) && !slices.Contains(w.foreign, path) })
}

// userSockets returns the user's sockets.
func userSockets(home, project string) (out []string) {
	add := func(path string) {
		info, err := os.Lstat(path)
		if err == nil && info.Mode()&os.ModeSocket != 0 && ownedByUser(info) && filepath.Base(path) != "fsmonitor--daemon.ipc" && !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	raw, _ := os.ReadFile("/proc/net/unix") // only Linux has it, and only there are commands confined
	for line := range strings.Lines(string(raw)) {
		at := strings.Index(line, " /")
		if at < 0 {
			continue // it has no name, or an abstract or a relative one
		}
		if path, err := filepath.EvalSymlinks(strings.TrimSuffix(line[at+1:], "\n")); err == nil {
			add(path)
		}
	}
	// A relative name says nothing about its folder, so these are looked at.
	for _, dir := range []string{home, filepath.Join(home, ".config"), project} {
		list, _ := os.ReadDir(dir) // what cannot be read has no sockets for the user
		for _, e := range list {
			if home != "" && e.Type()&os.ModeSocket != 0 {
				add(filepath.Join(dir, e.Name()))
			}
		}
	}
	return out
}

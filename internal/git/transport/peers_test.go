package transport

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/testkit/gitpeer"
)

// remotePeer is a repository to talk to, and the way there.
type remotePeer struct {
	Way string // path, file, http, ssh
	URL string
	Dir string // where it lies
}

// eachPeer runs a test over every way to a repository. Each gets an empty bare repository of
// its own.
func eachPeer(t *testing.T, test func(t *testing.T, peer remotePeer)) {
	for _, way := range []string{"path", "file", "http", "ssh"} {
		t.Run(way, func(t *testing.T) {
			p := remotePeer{Way: way, Dir: gitpeer.Bare(t)}
			switch way {
			case "path":
				p.URL = p.Dir
			case "file":
				p.URL = "file://" + filepath.ToSlash(p.Dir)
			case "http":
				p.URL = gitpeer.HTTP(t, filepath.Dir(p.Dir), "ann", "s3cret word") + "/" + filepath.Base(p.Dir)
			case "ssh":
				server, env := sshPeer(t, "")
				p.URL = server + p.Dir
				setenvAll(t, env)
			}
			test(t, p)
		})
	}
}

// setenvAll sets variables, each KEY=value, for the length of a test.
func setenvAll(t testing.TB, env []string) {
	t.Helper()
	for _, e := range env {
		key, value, _ := strings.Cut(e, "=")
		old, had := os.LookupEnv(key)
		if err := os.Setenv(key, value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if had {
				_ = os.Setenv(key, old)
			} else {
				_ = os.Unsetenv(key)
			}
		})
	}
}

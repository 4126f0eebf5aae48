package transport

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/testkit/gitjudge"
)

// remotePeer is a remote repository and how it is reached.
type remotePeer struct {
	Transport string // path, file, http, ssh
	URL       string
	Dir       string // its folder on this disk
}

// eachPeer runs a test with every transport, each time with a new, empty bare repository.
func eachPeer(t *testing.T, test func(t *testing.T, peer remotePeer)) {
	for _, transport := range []string{"path", "file", "http", "ssh"} {
		t.Run(transport, func(t *testing.T) {
			p := remotePeer{Transport: transport, Dir: gitjudge.Bare(t)}
			switch transport {
			case "path":
				p.URL = p.Dir
			case "file":
				p.URL = "file://" + filepath.ToSlash(p.Dir)
			case "http":
				p.URL = gitjudge.HTTP(t, filepath.Dir(p.Dir), "ann", "s3cret word") + "/" + filepath.Base(p.Dir)
			case "ssh":
				server, env := sshPeer(t, "")
				p.URL = server + p.Dir
				setenvAll(t, env)
			}
			test(t, p)
		})
	}
}

// setenvAll sets environment variables, each KEY=value, until the end of a test.
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

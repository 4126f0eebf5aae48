package remotes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"tape/internal/store/layout"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// TestFetchBesideGit changes or locks the same refs with git during a fetch, like a git process that outlived its killed
// tape command: the fetch is repeated, without a message.
func TestFetchBesideGit(t *testing.T) {
	for name, does := range map[string]string{
		"sets a ref":  `git --git-dir="$here" update-ref "$ref" "$first"`,
		"drops a ref": `git --git-dir="$here" update-ref -d "$ref"`,
		"holds a ref": `>"$here/$ref.lock"; (sleep 1; rm "$here/$ref.lock") >/dev/null 2>&1 &`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ada := storetest.New(t, nil)
			remote := storetest.Published(t, ada, false)
			storetest.Must(t, storetest.Join(t.Context(), ada))
			storetest.Append(t, storetest.Tape(t, ada, "main"), repo.Message("user", "more"))
			bob := storetest.Clone(t, remote)
			storetest.Push(t, ada, nil)

			ref := layout.FetchedRefs("origin") + layout.InnerRef(storetest.InnerTape(storetest.Tape(t, bob, "main")).Ref())
			first := storetest.Git(t, bob.Dir(), "rev-list", "--max-parents=0", "tape/main")
			dir := t.TempDir()
			hook, serve := filepath.Join(dir, "hook"), filepath.Join(dir, "serve")
			writeScript(t, hook, fmt.Sprintf("here='%s/.git' ref=%s first=%s\nif mkdir '%s/done' 2>/dev/null; then\n%s\nfi\nexec \"$@\"\n", bob.Dir(), ref, first, dir, does))
			writeScript(t, serve, "exec git -c uploadpack.packObjectsHook='"+hook+"' upload-pack \"$@\"\n")
			storetest.Git(t, bob.Dir(), "config", "remote.origin.uploadpack", serve)

			done, err := bob.Fetch(t.Context(), "origin", nil)
			storetest.Must(t, err)
			if len(done) != 1 || done[0].Status != repo.RefFastForward || done[0].Entries != 1 {
				t.Errorf("fetched %+v, want one tape fast-forwarded by 1 entry", done)
			}
			if _, err := os.Stat(filepath.Join(dir, "done")); err != nil {
				t.Error("the hook that disturbs the fetch did not run: ", err)
			}
		})
	}
}

func writeScript(t *testing.T, path, text string) {
	t.Helper()
	storetest.Must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755))
}

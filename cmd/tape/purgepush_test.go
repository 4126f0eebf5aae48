package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/testkit/gitjudge"
)

// A purged tape and its tags, one of which has a new name, can be pushed in one step to a server that otherwise
// accepts only pushes that append. The server refuses other changes of tags in such a push.
func TestPushPurge(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	for _, way := range []string{"path", "http"} {
		t.Run(way, func(t *testing.T) {
			root := t.TempDir()
			remote := gitjudge.BareIn(t, filepath.Join(root, "sessions.git"))
			address := remote
			if way == "http" {
				address = gitjudge.HTTP(t, root, "team", "key") + "/sessions.git"
			}
			ada := newSharer(t, "Ada", root)
			ada.run(`tape git install --server ` + remote + `
cd ~/work/shop; tape init .
git remote add origin ` + address + `
tape append --text before
key=c0rrect; key=$key-h0rse-B4ttery
tape handoff "with $key"
tape append --text "export DB_PASSWORD=$key"
tape handoff third
git push -q --no-verify origin tape/main --tags
git tag old anchor/main/003_third
tape purge @4 --yes`)
			push := "cd ~/work/shop; git push -q --no-verify --atomic --force --prune origin tape/main "
			if said := ada.run(push + "anchor/main/003_third~1:refs/tags/anchor/main/003_third 2>&1 && echo let in || true"); !strings.Contains(said, "tape: error: not pushed: anchor/main/003_third") || strings.Contains(said, "let in") {
				t.Errorf("moving a tag with a purge: want a refusal, got\n%s", said)
			}
			if said := ada.run(push + ":refs/tags/anchor/main/003_third 2>&1 && echo let in || true"); strings.Contains(said, "let in") {
				t.Errorf("deleting a tag with a purge: want a refusal, got\n%s", said)
			}
			ada.run(push + "'refs/tags/anchor/main/*:refs/tags/anchor/main/*'")
			refs := "git for-each-ref --format='%(objectname) %(refname)' refs/heads/tape refs/tags/anchor"
			here, there := ada.run("cd ~/work/shop; "+refs), ada.run("cd "+remote+"; "+refs)
			if here != there || strings.Contains(there, "h0rse") || strings.Count(there, "\n") != 4 {
				t.Errorf("want the same 4 refs, without the key: Ada has\n%s\nthe remote\n%s", here, there)
			}
			if said := ada.run("cd ~/work/shop; tape append --text after; tape push; tape pull"); !strings.Contains(said, "2 entries  pushed") && !strings.Contains(said, "1 entry  pushed") {
				t.Errorf("pushing after a purge: want pushed entries, got\n%s", said)
			}
		})
	}
}

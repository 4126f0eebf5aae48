package qwen_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/qwen"
	"tape/internal/sessions/importer/record"
)

// TestKept: a result that was moved to a file is whole, from this project's folder, this call's file, and with the hash that
// the result names (QwenLM/qwen-code, packages/core/src/tools/truncation.ts).
func TestKept(t *testing.T) {
	home := t.TempDir()
	hash := func(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }
	write := func(name, text string) {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("tmp/"+hash("/w/shop")+"/tool-results/t1.txt", "the whole")
	write("tmp/"+hash("/w/shop")+"/tool-results/t2.txt", "of another call")
	write("tmp/"+hash("/w/shop")+"/shell_0123456789ab.output", "the whole")
	write("tmp/"+hash("/w/other")+"/tool-results/t1.txt", "of another project")
	write("secret.txt", "secret")
	const chats, agent = "projects/-w-shop/chats/q-1.jsonl", "projects/-w-shop/subagents/q-1/agent-x.jsonl"
	persisted := func(named string, digest string) string {
		return `<persisted-output>\nOutput too large (90 KB). Full output saved to: ` + named + `\nNote: cleaned up\n` + digest + `\n\nPreview (up to 2000 chars):\nthe\n</persisted-output>`
	}
	truncated := func(named string) string {
		return `Tool output was too large and has been truncated.\nThe full output has been saved to: ` + named + `\nTo read\n\nTruncated part of the output:\nthe`
	}
	for _, x := range []struct{ file, cwd, said, want string }{
		{chats, "/w/shop", persisted("/home/dev/.qwen/tmp/x/tool-results/t1.txt", ""), "the whole"},
		{chats, "/w/shop", persisted(`C:\\x\\t1.txt`, "Full output sha256: "+hash("the whole")), "the whole"},
		{chats, "/w/shop", persisted("t1.txt", "Full output sha256: "+hash("other")), ""},
		{chats, "/w/shop", persisted("t2.txt", ""), ""},
		{chats, "/w/other", persisted("t1.txt", ""), ""},
		{chats, "/w/shop", persisted("../../secret.txt", ""), ""},
		{chats, "/w/shop", "it says Full output saved to: t1.txt", ""},
		{chats, "/w/shop", truncated("/x/shell_0123456789ab.output"), "the whole"},
		{chats, "/w/shop", truncated("/x/tool-results/t1.txt"), ""},
		{agent, "/w/shop", persisted("t1.txt", ""), "the whole"},
		{"q-1.jsonl", "/w/shop", persisted("t1.txt", ""), ""},
	} {
		line := func(id, parent, typ, more string) string {
			return `{"uuid":"` + id + `","parentUuid":` + parent + `,"sessionId":"q-1","timestamp":"2026-01-01T00:00:01.000Z","type":"` + typ + `","cwd":"` + x.cwd + `","message":{"role":"user","parts":[` + more + `]}}`
		}
		data := formattest.Lines(line("a", "null", "user", `{"text":"list"}`), line("b", `"a"`, "assistant", `{"functionCall":{"id":"t1","name":"shell","args":{}}}`),
			line("c", `"b"`, "tool_result", `{"functionResponse":{"id":"t1","name":"shell","response":{"output":"`+x.said+`"}}}`))
		src := record.Source{Name: filepath.Join(home, x.file), R: bytes.NewReader(data), Size: int64(len(data))}
		got := ""
		_, err := importer.Read(t.Context(), &qwen.Format, src, func(string, string) bool { return false }, func(it record.Item) error {
			for _, w := range it.Whole {
				got += string(w)
			}
			return nil
		})
		if err != nil || got != x.want {
			t.Errorf("%s in %s, %q: %q, want %q (%v)", x.file, x.cwd, x.said, got, x.want, err)
		}
	}
}

package qwen

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// A result that is too large for the model is in a file of the project's folder for temporary files, for a day at least:
// tmp/HASH/tool-results/CALL.txt, or tmp/HASH/TOOL_RANDOM.output (packages/core/src/tools/truncation.ts and
// config/storage.ts of QwenLM/qwen-code). HASH is that of the project's directory. Newer versions say the hash of the text.

// kept returns the whole text of a result that the program moved to a file; nil if there is none. Only files of the
// project in whose folder the transcript is are read, of them only those with a name that the program gives to a result of
// this call, and only the text whose hash the result names, if it names one.
func (e element) kept(call string, content []byte) []byte {
	text := record.Text(content)
	text = text[:min(len(text), 8<<10)]
	var named, folder string
	switch {
	case strings.HasPrefix(text, "<persisted-output>"):
		_, named, _ = strings.Cut(text, "Full output saved to: ")
		folder = "tool-results"
	case strings.HasPrefix(text, "Tool output was too large and has been truncated"):
		_, named, _ = strings.Cut(text, "The full output has been saved to: ")
	}
	named, rest, _ := strings.Cut(named, "\n")
	name := path.Base(strings.ReplaceAll(named, `\`, "/"))
	if call == "" || folder != "" && name != call+".txt" || folder == "" && !isSpilled(name) {
		return nil
	}
	cwd := jsonl.GetString(e.raw, "cwd")
	base := runtimeOf(e.Name, cwd)
	if base == "" {
		return nil
	}
	data := e.Kept(filepath.Join(base, "tmp", fmt.Sprintf("%x", sha256.Sum256([]byte(cwd)))), folder, name)
	if _, digest, says := strings.Cut(rest, "Full output sha256: "); says {
		digest, _, _ = strings.Cut(digest, "\n")
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != digest {
			return nil
		}
	}
	return data
}

// isSpilled reports whether a file's name is TOOL_RANDOM.output.
func isSpilled(name string) bool {
	name, is := strings.CutSuffix(name, ".output")
	random := name[strings.LastIndexByte(name, '_')+1:]
	return is && len(random) == 12 && len(name) > 13 && strings.Trim(random, "0123456789abcdef") == ""
}

// runtimeOf returns the folder above projects/PROJECT, in which the transcript of a session in a directory is; "" if it is
// elsewhere. The file is in chats or, of a subagent, in subagents/SESSION.
func runtimeOf(file, cwd string) string {
	for dir := filepath.Dir(file); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if above := filepath.Dir(dir); filepath.Base(above) == "projects" {
			if cwd != "" && filepath.Base(dir) == record.Dashed(cwd) {
				return filepath.Dir(above)
			}
			return ""
		}
	}
	return ""
}

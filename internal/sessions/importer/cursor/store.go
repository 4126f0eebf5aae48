package cursor

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// CLI is the format of the databases in which Cursor's command line keeps sessions, one for each: chats/HASH/ID/store.db and
// acp-sessions/ID/store.db in ~/.cursor. The row "0" of "meta" has the facts, as JSON in hexadecimal digits; "blobs" are
// named after their hash. latestRootBlobId is the protobuf message that lists the conversation: field 1 is a message of it,
// field 2 another list. A message is JSON in the form of Vercel's AI SDK, perhaps in field 4 of a protobuf message. It has
// calls with their results, which a transcript does not have, but no dates and tokens. meta.json beside the database has
// the directory. Read from other people's descriptions: src/core/store-stack in S2thend/cursor-history,
// getagentseal/codeburn#986, kenn-io/agentsview#1664, jazzyalex/agent-sessions#74.
var CLI = record.Format{
	Name: "cursor-cli", Title: "Cursor, command line", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence { return record.Certain.If(isOfStore(m.Text("cursor"))) },
	Files: record.Files{Database: &record.Database{
		File: storeFile, Tables: []string{"blobs", "meta"}, All: stores, Sessions: storeSessions, Write: writeStore, Elsewhere: hasTranscript,
	}},
}

const (
	storeFile    = "store.db"
	storeFacts   = "store"
	storeMessage = "message"
	storeLost    = "lost"
)

// isOfStore reports whether a line that says this of itself is one of writeStore.
func isOfStore(kind string) bool {
	return kind == storeFacts || kind == storeMessage || kind == storeLost
}

func stores(user record.Where) (out []record.DatabaseFile) {
	for _, place := range []string{"chats/*/*/", "acp-sessions/*/"} {
		for _, path := range disk.Glob(folder(user), place+storeFile) {
			if _, err := os.Lstat(path); err == nil {
				out = append(out, record.DatabaseFile{Path: path, Dir: jsonl.GetString(besideStore(path), "cwd")})
			}
		}
	}
	return out
}

// besideStore returns what newer versions note beside a database, nil if there is nothing.
func besideStore(path string) []byte {
	raw := record.Source{Name: path}.Beside("meta.json")
	if !jsonl.IsObject(raw) || jsonl.Valid(raw) != nil {
		return nil
	}
	return raw
}

// storeMeta returns the facts of the session in a database, nil if there are none.
func storeMeta(ctx context.Context, ask record.Ask) ([]byte, error) {
	rows, err := ask(ctx, `SELECT CAST(value AS TEXT) AS value FROM meta WHERE key = '0'`)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	raw, err := hex.DecodeString(jsonl.GetString(rows[0], "value"))
	if err != nil || !jsonl.IsObject(raw) || jsonl.Valid(raw) != nil {
		return nil, nil //nolint:nilerr // another program's, or damaged: it has no session
	}
	return record.Without(record.Compact(raw), "blobEncryptionKey"), nil
}

func storeSessions(ctx context.Context, ask record.Ask) ([]record.KeptSession, error) {
	meta, err := storeMeta(ctx, ask)
	if jsonl.GetString(meta, "latestRootBlobId") == "" {
		return nil, err
	}
	s := record.KeptSession{ID: jsonl.GetString(meta, "agentId")}
	n := 0
	list := &tree{ctx: ctx, ask: ask, seen: map[string]bool{}, use: func(message []byte) error {
		if s.Dir, n = workspace(message), n+1; s.Dir != "" || n == openingMessages {
			return errEnough
		}
		return nil
	}}
	if err := list.walk(jsonl.GetString(meta, "latestRootBlobId")); err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return []record.KeptSession{s}, nil
}

// openingMessages is how many messages of a session may name its directory.
const openingMessages = 8

var errEnough = errors.New("enough")

// workspace returns the directory that a message names, "" if it names none.
func workspace(message []byte) string {
	_, after, _ := strings.Cut(jsonText(message), "Workspace Path: ")
	dir, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(dir)
}

// writeStore writes the session of a database as lines.
func writeStore(ctx context.Context, ask record.Ask, path, id string, w io.Writer) error {
	meta, err := storeMeta(ctx, ask)
	if err != nil {
		return err
	}
	if jsonl.GetString(meta, "agentId") != id {
		return fmt.Errorf("%s has no session %s", path, id)
	}
	beside := besideStore(path)
	var messages [][]byte
	cwd, size := jsonl.GetString(beside, "cwd"), 0
	list := &tree{ctx: ctx, ask: ask, seen: map[string]bool{}, use: func(message []byte) error {
		messages, size = append(messages, message), size+len(message)
		if size > maxMessages { // a small database may list a message many times
			return fmt.Errorf("%s has too much for one session: more than %d MiB", path, maxMessages>>20)
		}
		if cwd == "" && len(messages) <= openingMessages {
			cwd = workspace(message)
		}
		return nil
	}}
	if err := list.walk(jsonl.GetString(meta, "latestRootBlobId")); err != nil {
		return err
	}
	facts := record.NewObject(512).Str("cursor", storeFacts).All(meta, "latestRootBlobId").Raw("updatedAt", jsonl.Get(beside, "updatedAtMs"))
	if cwd != "" {
		facts.Str("cwd", cwd)
	}
	out := bufio.NewWriter(w) // its last Flush returns the first error
	_, _ = out.Write(append(facts.Done(), '\n'))
	for _, m := range messages {
		_, _ = out.Write(append(record.NewObject(len(m)+32).Str("cursor", storeMessage).All(m, "cursor").Done(), '\n'))
	}
	if list.lost > 0 {
		_, _ = out.Write(append(record.NewObject(64).Str("cursor", storeLost).Raw("messages", fmt.Append(nil, list.lost)).Done(), '\n'))
	}
	return out.Flush()
}

// jsonText returns the text of a message.
func jsonText(message []byte) string {
	text, _ := record.Plain(record.Or(jsonl.Get(message, "content"), `""`))
	return record.Text(text)
}

// maxMessages is the greatest size of the messages of a session, in bytes.
const maxMessages = 256 << 20

// tree visits the messages below a blob, in their order.
type tree struct {
	ctx  context.Context
	ask  record.Ask
	seen map[string]bool // lists: one that contains itself would not end
	use  func(message []byte) error
	lost int // messages that cannot be read
}

// blob returns the content of a blob, nil if there is none.
func (t *tree) blob(id string) ([]byte, error) {
	rows, err := t.ask(t.ctx, `SELECT hex(data) AS data FROM blobs WHERE id = ?`, id)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return hex.DecodeString(jsonl.GetString(rows[0], "data"))
}

func (t *tree) walk(id string) error {
	if t.seen[id] {
		return nil
	}
	t.seen[id] = true
	list, err := t.blob(id)
	if err != nil {
		return err
	}
	for field, value := range fields(list) {
		if len(value) != 32 || field != 1 && field != 2 {
			continue
		}
		of := hex.EncodeToString(value)
		if field == 2 {
			if err := t.walk(of); err != nil {
				return err
			}
			continue
		}
		data, err := t.blob(of)
		if err != nil {
			return err
		}
		message := messageIn(data)
		if message == nil {
			t.lost++
		} else if err := t.use(message); err != nil {
			return err
		}
	}
	return nil
}

// messageIn returns the message of a blob, nil if there is none.
func messageIn(data []byte) []byte {
	if jsonl.IsObject(data) && jsonl.Valid(data) == nil {
		return record.Compact(data)
	}
	for field, value := range fields(data) {
		if value = bytes.TrimSpace(value); field == 4 && jsonl.IsObject(value) && jsonl.Valid(value) == nil {
			return record.Compact(value)
		}
	}
	return nil
}

// fields yields the fields of a protobuf message whose values are bytes, up to one that is none.
func fields(b []byte) func(yield func(int, []byte) bool) {
	return func(yield func(int, []byte) bool) {
		for len(b) > 0 {
			tag, n := binary.Uvarint(b)
			if n <= 0 {
				return
			}
			b = b[n:]
			var size uint64
			switch tag & 7 {
			case 0:
				if _, n = binary.Uvarint(b); n <= 0 {
					return
				}
				b = b[n:]
				continue
			case 1:
				size = 8
			case 5:
				size = 4
			case 2:
				if size, n = binary.Uvarint(b); n <= 0 {
					return
				}
				b = b[n:]
			default:
				return
			}
			if size > uint64(len(b)) || tag>>3 > 1<<20 {
				return
			}
			if tag&7 == 2 && !yield(int(tag>>3), b[:size]) {
				return
			}
			b = b[size:]
		}
	}
}

// fromStore makes the entries of a message that writeStore has written.
func (c *reader) fromStore(raw []byte) {
	key, content := c.Counts.Key(raw), record.Or(jsonl.Get(raw, "content"), `""`)
	blocks := record.Blocks{Key: key, Date: c.date, Detail: func(block []byte) []byte {
		return record.NewObject(64).Rest(block, "type", "tool_use_id", "content", "is_error").OrNil()
	}}
	switch role := jsonl.GetString(raw, "role"); role {
	case "system":
		text, _ := record.Plain(content)
		c.Put(record.Entry{Kind: record.KindSystem, Keys: []string{key}, Date: c.date, Payload: record.With(nil, "content", text)})
	case "assistant":
		c.PutAnswer(storeBlocks(content), blocks)
	case "user", "tool":
		c.date = cmp.Or(said(content), c.date)
		blocks.Date = c.date
		c.prompt(key, storeBlocks(content), blocks)
	default:
		c.Put(record.Event(key, c.date, cmp.Or(role, "record"), record.NewObject(len(raw)).Rest(raw, "cursor", "role").Done()))
	}
}

// storeBlocks returns a content in Anthropic's form.
func storeBlocks(content []byte) []byte {
	if len(content) == 0 || content[0] != '[' {
		return content
	}
	var out [][]byte
	for block := range jsonl.Elements(content) {
		switch jsonl.GetString(block, "type") {
		case "tool-call":
			block = record.NewObject(len(block)).Str("type", "tool_use").Raw("id", jsonl.Get(block, "toolCallId")).Raw("name", jsonl.Get(block, "toolName")).
				Raw("input", record.Or(jsonl.Get(block, "args"), string(record.Or(jsonl.Get(block, "input"), "{}")))).Done()
		case "tool-result":
			shown := record.Or(jsonl.Get(block, "result"), string(record.Or(jsonl.Get(block, "output"), string(record.Or(jsonl.Get(block, "experimental_content"), `""`)))))
			o := record.NewObject(len(block)).Str("type", "tool_result").Raw("tool_use_id", jsonl.Get(block, "toolCallId")).Raw("content", shown)
			if string(jsonl.Get(block, "isError")) == "true" {
				o.Raw("is_error", []byte("true"))
			}
			block = o.Done()
		case "reasoning":
			block = record.Without(block, "signature", "providerOptions")
		}
		out = append(out, block)
	}
	return record.Array(out)
}

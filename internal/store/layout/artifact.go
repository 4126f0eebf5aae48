package layout

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"tape/internal/text/jsonl"
)

// ArtifactLimit is the largest artifact in bytes. A commit reads artifacts into memory, and git hosts
// refuse much larger files.
const ArtifactLimit = 64 << 20

// MetaAbsent is the key in an entry's meta that lists its missing artifacts.
const MetaAbsent = "absent"

// ArtifactKey is the key of a reference to an artifact, in quotes.
const ArtifactKey = `"artifact"`

// AnyType is the MIME type of an artifact of unknown type.
const AnyType = "application/octet-stream"

// artifactDepth is how deep in a payload references are found.
const artifactDepth = 8

// Artifact is a file of a phase, which entries refer to by the SHA-256 of its content.
type Artifact struct {
	ID       string `json:"id"` // the same as SHA256
	MIMEType string `json:"mime_type"`
	Name     string `json:"name"` // for people; may be ""
	Size     int64  `json:"size_bytes"`
	SHA256   string `json:"sha256"` // 64 lower-case hex digits
}

// Reference returns the object that refers to the artifact in a payload, under the key "artifact".
func (a Artifact) Reference() json.RawMessage {
	out := jsonl.AppendString([]byte(`{"id":`), a.SHA256)
	out = jsonl.AppendString(append(out, `,"mime_type":`...), a.MIMEType)
	out = jsonl.AppendString(append(out, `,"name":`...), a.Name)
	out = strconv.AppendInt(append(out, `,"size_bytes":`...), a.Size, 10)
	out = jsonl.AppendString(append(out, `,"sha256":`...), a.SHA256)
	return append(out, '}')
}

// About returns the name, type and size, for people.
func (a Artifact) About() string {
	return strings.TrimPrefix(a.Name+", ", ", ") + a.MIMEType + ", " + strconv.FormatInt(a.Size, 10) + " bytes"
}

// IsArtifactName reports whether name is a valid file name in a phase's folder of artifacts.
func IsArtifactName(name string) bool {
	sum, err := hex.DecodeString(name)
	return err == nil && len(sum) == 32 && hex.EncodeToString(sum) == name
}

// Artifacts returns the well-formed references to artifacts in a payload.
func Artifacts(payload []byte) []Artifact {
	var out []Artifact
	references(payload, artifactDepth, func(ref []byte) {
		if a, err := parseArtifact(ref); err == nil {
			out = append(out, a)
		}
	})
	return out
}

// CheckArtifacts returns the references in new input, where a malformed one is an ErrInvalid.
func CheckArtifacts(payload []byte) (out []Artifact, err error) {
	references(payload, artifactDepth, func(ref []byte) {
		a, bad := parseArtifact(ref)
		if bad != nil && err == nil {
			err = bad
		}
		out = append(out, a)
	})
	return out, err
}

// references calls f for each object under a key "artifact" that has a member "sha256".
func references(value []byte, depth int, f func(ref []byte)) {
	if depth == 0 || !bytes.Contains(value, []byte(ArtifactKey)) {
		return
	}
	for key, v := range jsonl.Fields(value) {
		if key == "artifact" && jsonl.Get(v, "sha256") != nil {
			f(v)
		} else {
			references(v, depth-1, f)
		}
	}
	for v := range jsonl.Elements(value) {
		references(v, depth-1, f)
	}
}

// RenameArtifact changes a payload's references to one artifact so that they refer to another, by id
// and size.
func RenameArtifact(payload []byte, old, next Artifact) []byte {
	out := payload
	references(payload, artifactDepth, func(ref []byte) {
		if a, err := parseArtifact(ref); err != nil || a.SHA256 != old.SHA256 {
			return
		}
		renamed := bytes.ReplaceAll(ref, []byte(old.SHA256), []byte(next.SHA256))
		size := func(n int64) []byte { return strconv.AppendInt([]byte(`"size_bytes":`), n, 10) }
		renamed = bytes.Replace(renamed, size(old.Size), size(next.Size), 1)
		out = bytes.ReplaceAll(out, ref, renamed)
	})
	return out
}

func parseArtifact(ref []byte) (Artifact, error) {
	a := Artifact{ID: jsonl.GetString(ref, "id"), MIMEType: jsonl.GetString(ref, "mime_type"), Name: jsonl.GetString(ref, "name"), SHA256: jsonl.GetString(ref, "sha256")}
	size, err := strconv.ParseInt(string(jsonl.Get(ref, "size_bytes")), 10, 64)
	a.Size = size
	switch {
	case !IsArtifactName(a.SHA256):
		return a, Invalid("", "an artifact's sha256 has 64 lower-case hex digits: %.100q", a.SHA256)
	case a.ID != a.SHA256:
		return a, Invalid("", "an artifact's id is its sha256, not %.100q", a.ID)
	case a.MIMEType == "":
		return a, Invalid("if the type is unknown, use "+AnyType, "the artifact %s needs a mime_type", a.SHA256)
	case err != nil || size < 0:
		return a, Invalid("", "the artifact %s needs size_bytes, a number", a.SHA256)
	}
	return a, nil
}

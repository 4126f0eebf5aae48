package importer

import (
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tape/internal/sessions/importer/bub"
	"tape/internal/sessions/importer/claudecode"
	"tape/internal/sessions/importer/codex"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/gemini"
	"tape/internal/sessions/importer/openai"
	"tape/internal/sessions/importer/opencode"
	"tape/internal/sessions/importer/record"
	"tape/internal/testkit"
)

func TestMain(m *testing.M) {
	record.Unzstd = func(from io.Reader, maxWindow uint64) (io.ReadCloser, error) {
		r, err := zstd.NewReader(from, zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return r.IOReadCloser(), nil
	}
	testkit.Main(m, nil, nil)
}

// fixtures is where transcripts of real sessions are, beside the project.
const fixtures = "../../../../shared/fixtures"

// The names of some formats.
var (
	Bub        = bub.Format.Name
	ClaudeCode = claudecode.Format.Name
	Codex      = codex.Format.Name
	Gemini     = gemini.Format.Name
	OpenAI     = openai.Format.Name
	OpenCode   = opencode.Format.Name
)

// What the tests of the formats share.
var (
	imp       = formattest.Importer{Formats: All(), ReadAs: Read, DescribeAs: Describe}
	read      = imp.Items
	grows     = imp.Grows
	lines     = formattest.Lines
	decode    = formattest.Decode
	leaves    = formattest.Leaves
	fixture   = formattest.Fixture
	source1   = formattest.Source
	generate  = formattest.Claude
	userLn    = formattest.ClaudeUser
	answerLn  = formattest.ClaudeAnswer
	taskBlock = formattest.ClaudeTask
	saidLn    = formattest.ClaudeSaid
	sideLn    = formattest.ClaudeSide
	doneLn    = formattest.ClaudeDone
)

type tapeSeen = formattest.Seen

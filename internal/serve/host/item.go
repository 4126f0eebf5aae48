package host

import (
	"encoding/json"
	"fmt"
	"strconv"

	"tape/internal/serve/host/api"
	"tape/internal/text/jsonl"
	"tape/repo"
)

const maxText = 4_000 // characters of a text in a transcript

// itemOf returns an entry as an item of a transcript. Without binary, base64 content is left out.
func itemOf(conversation string, e repo.Entry, cursor string, binary bool) api.Item {
	id := fmt.Sprintf("%s@%d", conversation, e.ID)
	out := api.Item{TranscriptID: id, EventID: id, ConversationID: conversation, ThreadID: jsonl.GetString(e.Meta, metaThread), Role: roleOf(e), ItemType: kindOf(e),
		Seq: e.ID, Cursor: cursor, CreatedAt: e.Date, Metadata: e.Meta, AttachmentRefs: []json.RawMessage{}}
	for _, a := range repo.References(e) {
		out.AttachmentRefs = append(out.AttachmentRefs, a.Reference())
	}
	payload := e.Payload
	if !binary {
		payload, out.ContentRedacted = withoutBinary(payload)
	}
	text := textOf(e.Kind, payload)
	if cut := cutText(text, maxText); cut != text {
		text, out.Truncated = cut, true
	}
	out.Content, out.ContentJSON = text, payload
	if len(payload) > 8*maxText {
		out.ContentJSON, out.Truncated = json.RawMessage("null"), true
	}
	if out.Truncated {
		out.FullRef = "/v1/events/" + strconv.FormatInt(e.ID, 10)
		if len(out.AttachmentRefs) > 0 {
			out.FullRef = "/v1/artifacts/" + jsonl.GetString(out.AttachmentRefs[0], "id")
		}
	}
	return out
}

// eventItem returns an entry as an item of a list of events.
func eventItem(conversation string, e repo.Entry, cursor string) api.EventItem {
	return api.EventItem{EventID: fmt.Sprintf("%s@%d", conversation, e.ID), ConversationID: conversation, ThreadID: jsonl.GetString(e.Meta, metaThread), Type: itemType(e),
		Seq: e.ID, Cursor: cursor, CreatedAt: e.Date, Data: e.Payload, Metadata: e.Meta}
}

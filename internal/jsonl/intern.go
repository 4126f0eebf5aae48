package jsonl

// intern is string(b), without an allocation for words that transcripts repeat
// in every record. Leaving a word out costs time only.
func intern(b []byte) string {
	if len(b) > 16 {
		return string(b)
	}
	switch string(b) {
	case "id":
		return "id"
	case "kind":
		return "kind"
	case "payload":
		return "payload"
	case "meta":
		return "meta"
	case "date":
		return "date"
	case "type":
		return "type"
	case "role":
		return "role"
	case "content":
		return "content"
	case "text":
		return "text"
	case "name":
		return "name"
	case "data":
		return "data"
	case "state":
		return "state"
	case "message":
		return "message"
	case "system":
		return "system"
	case "user":
		return "user"
	case "assistant":
		return "assistant"
	case "tool_call":
		return "tool_call"
	case "tool_result":
		return "tool_result"
	case "tool_use":
		return "tool_use"
	case "event":
		return "event"
	case "error":
		return "error"
	case "anchor":
		return "anchor"
	case "calls":
		return "calls"
	case "results":
		return "results"
	case "function":
		return "function"
	case "arguments":
		return "arguments"
	case "timestamp":
		return "timestamp"
	case "usage":
		return "usage"
	case "model":
		return "model"
	case "input":
		return "input"
	case "output":
		return "output"
	case "uuid":
		return "uuid"
	case "parentUuid":
		return "parentUuid"
	case "sessionId":
		return "sessionId"
	case "version":
		return "version"
	case "cwd":
		return "cwd"
	case "call_id":
		return "call_id"
	case "tool_use_id":
		return "tool_use_id"
	case "thinking":
		return "thinking"
	case "signature":
		return "signature"
	}
	return string(b)
}

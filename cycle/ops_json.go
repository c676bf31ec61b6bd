package cycle

import "encoding/json"

// MarshalJSON writes exactly the fields of the op's row in the table at [Op], also those that are 0 or "".
func (o Op) MarshalJSON() ([]byte, error) {
	switch o.Op {
	case OpCycle:
		return marshal(struct {
			Op    OpKind `json:"op"`
			Cycle string `json:"cycle"`
			Kind  string `json:"kind"`
			Text  string `json:"text"`
		}{o.Op, o.Cycle, o.Kind, o.Text})
	case OpStatus:
		return marshal(struct {
			Op     OpKind `json:"op"`
			Cycle  string `json:"cycle"`
			Status string `json:"status"`
		}{o.Op, o.Cycle, o.Status})
	case OpStep:
		return marshal(struct {
			Op    OpKind `json:"op"`
			Cycle string `json:"cycle"`
			Step  int    `json:"step"`
			Type  string `json:"type"`
			Kind  string `json:"kind,omitempty"`
			ID    string `json:"id"`
			Text  string `json:"text"`
		}{o.Op, o.Cycle, o.Step, o.Type, o.Kind, o.ID, o.Text})
	case OpText:
		return marshal(struct {
			Op    OpKind `json:"op"`
			Cycle string `json:"cycle"`
			Step  int    `json:"step"`
			Text  string `json:"text"`
		}{o.Op, o.Cycle, o.Step, o.Text})
	case OpCall:
		return marshal(struct {
			Op     OpKind          `json:"op"`
			Cycle  string          `json:"cycle"`
			Step   int             `json:"step"`
			Group  int             `json:"group"`
			Call   int             `json:"call"`
			Type   string          `json:"type"`
			CallID string          `json:"callId"`
			Tool   string          `json:"tool"`
			Args   json.RawMessage `json:"args"`
		}{o.Op, o.Cycle, o.Step, o.Group, o.Call, o.Type, o.CallID, o.Tool, argsOf(o.Args)})
	case OpResult:
		return marshal(struct {
			Op     OpKind `json:"op"`
			Cycle  string `json:"cycle"`
			Step   int    `json:"step"`
			Group  int    `json:"group"`
			Call   int    `json:"call"`
			Status string `json:"status"`
			Text   string `json:"text"`
		}{o.Op, o.Cycle, o.Step, o.Group, o.Call, o.Status, o.Text})
	default:
		return o.marshalRest()
	}
}

// marshalRest writes the ops of rounds, queue and anomalies.
func (o Op) marshalRest() ([]byte, error) {
	switch o.Op {
	case OpRound:
		return marshal(struct {
			Op    OpKind   `json:"op"`
			Cycle string   `json:"cycle"`
			N     int      `json:"n"`
			Input []string `json:"input"`
		}{o.Op, o.Cycle, o.N, append([]string{}, o.Input...)})
	case OpOutput, OpFeedback:
		return marshal(struct {
			Op    OpKind `json:"op"`
			Cycle string `json:"cycle"`
			ID    string `json:"id"`
		}{o.Op, o.Cycle, o.ID})
	case OpPush:
		return marshal(struct {
			Op   OpKind `json:"op"`
			ID   string `json:"id"`
			Text string `json:"text"`
		}{o.Op, o.ID, o.Text})
	case OpQueue:
		return marshal(struct {
			Op     OpKind   `json:"op"`
			Queued []Queued `json:"queued"`
		}{o.Op, append([]Queued{}, o.Queued...)})
	case OpAnomaly:
		return marshal(struct {
			Op     OpKind        `json:"op"`
			Index  int           `json:"index"`
			Reason AnomalyReason `json:"reason"`
		}{o.Op, o.Index, o.Reason})
	default: // pop, and kinds to come
		return marshal(struct {
			Op OpKind `json:"op"`
		}{o.Op})
	}
}

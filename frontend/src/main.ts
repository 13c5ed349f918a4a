// Where the page of a file starts.

import { talkToParent } from "./embedded.ts";
import { sourceHere } from "./here.ts";
import { start } from "./start.ts";

void start(sourceHere).then(talkToParent);

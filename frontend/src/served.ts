// Where a served page starts. A bundle of its own: the script of a file makes no request, and cannot.

import { sourceOfServer, tellServer } from "./live.ts";
import { start } from "./start.ts";

void start(sourceOfServer).then(tellServer);

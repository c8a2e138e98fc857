/** The thread in which schemas from outside are compiled and used. */
import { serveOrders } from '../../runtime/kernel/worker-orders.ts'
import { checkSchema } from './check-schema.ts'
import type { SchemaFindings, SchemaOrder } from './schema-findings.ts'

serveOrders<SchemaOrder, never, SchemaFindings>((order) => checkSchema(order))
